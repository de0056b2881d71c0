/**
 * Options of other programs (onnxruntime, ultralytics, torchvision, sharp, trtexec, TensorRT's Python, Triton), and
 * what has their place here. A hint is the place of an option, with its value after "=" where that is another word; or
 * a sentence, which ends in a full stop.
 */
type Hints = Readonly<Record<string, string>>

const layersMeasure = 'engine.layers() and engine.benchmark({ layers: true }) measure layers.'
const logs = "onLog(listener, level) hears TensorRT's lines; there is no log of the CPU."
const onDisk = 'the option cache keeps plans on disk; a plan is loaded by its path, the first argument.'
const ofBuild = 'shapes of build(model, { shapes }) has them: { input: { min, opt, max } }.'
const ofConfig = "config.pbtxt in the model's folder says it."
const inOrder = 'nodes run one after the other: cpu: { threads } are those of a node, lanes run side by side.'
const ofLoad = 'it is an option of load(), since it is of the model and not of a call.'
const byClass = 'take what you want by classIndex or label of what is found.'
const streams = 'pictures(…), or another iterable, in place of a picture gives answers one after another.'
const noArena = "it is not there: onnxruntime's own way is kept."

/** Names of precisions, where `place` is that of `precision`. */
function precisions(place: string): Hints {
  const named = ['fp16', 'bf16', 'int8', 'fp8', 'int4'].map((name) => [name, `${place}='${name}'`])
  return { ...(Object.fromEntries(named) as Hints), half: `${place}='fp16'`, trt_fp16_enable: `${place}='fp16'` }
}

/** What stands in TensorRT's builder, whose options lie at `place`. */
function ofBuilder(place: string): Hints {
  return {
    ...precisions(`${place}precision`),
    precisionMode: `${place}precision`,
    max_workspace_size: `${place}workspace`,
    workspaceSize: `${place}workspace`,
    memPoolSize: `${place}workspace`,
    builderOptimizationLevel: `${place}optimizationLevel`,
    builder_optimization_level: `${place}optimizationLevel`,
    timingCacheFile: `${place}timingCache`,
    maxAuxStreams: `${place}auxiliaryStreams`,
    hardwareCompatibilityLevel: `${place}hardwareCompatibility`,
    noTF32: `${place}tf32=false`,
  }
}

/** Of what loads an engine. */
const loading: Hints = {
  executionProviders: "backend: 'tensorrt', 'cpu' or 'auto' chooses the runtime.",
  providers: "backend: 'tensorrt', 'cpu' or 'auto' chooses the runtime.",
  graphOptimizationLevel: 'cpu.optimization',
  intraOpNumThreads: 'cpu.threads',
  numThreads: 'cpu.threads',
  interOpNumThreads: inOrder,
  executionMode: inOrder,
  extra: 'cpu.config',
  sessionOptions: 'cpu.config',
  freeDimensionOverrides: 'freeDimensions',
  enableProfiling: layersMeasure,
  profileFilePrefix: layersMeasure,
  dumpProfile: layersMeasure,
  logSeverityLevel: logs,
  logVerbosityLevel: logs,
  logId: logs,
  verbose: logs,
  enableCpuMemArena: noArena,
  enableMemPattern: noArena,
  optimizedModelFilePath: 'it is not there: saveModel of node-tensorrt/onnx writes models.',
  externalData: "weights in other files are found beside the model's file.",
  preferredOutputLocation: 'location of infer(inputs, { location }) says where outputs stay.',
  ...ofBuilder('tensorrt.builder.'),
  precision: 'tensorrt.builder.precision',
  workspace: 'tensorrt.builder.workspace',
  optimizationLevel: 'tensorrt.builder.optimizationLevel',
  timingCache: 'tensorrt.builder.timingCache',
  useCudaGraph: 'tensorrt.cudaGraph',
  useSpinWait: "tensorrt.wait='spin'",
  infStreams: 'lanes',
  streams: 'lanes',
  minShapes: 'shapes: { input: { min, opt, max } } has all three.',
  optShapes: 'shapes: { input: { min, opt, max } } has all three.',
  maxShapes: 'shapes: { input: { min, opt, max } } has all three.',
  saveEngine: onDisk,
  loadEngine: onDisk,
  trt_engine_cache_enable: onDisk,
  trt_engine_cache_path: 'cache',
  maxBatchSize: 'batching.maxBatch',
  max_batch_size: 'batching.maxBatch',
  dynamic_batching: 'batching.maxBatch',
  preferred_batch_size: 'batching.preferred',
  max_queue_delay_microseconds: 'batching.maxDelayMs',
  max_queue_size: 'maxQueue',
  instance_group: 'lanes',
}

/** Of how pictures become a model's input, by the words of ultralytics, torchvision and sharp. */
const ofInput: Hints = {
  imgsz: 'input.size',
  size: 'input.size',
  crop_size: 'input.size',
  resize_size: 'input.shortSide',
  resize: 'input.resize',
  fit: 'input.resize',
  background: 'input.fill',
  kernel: 'input.filter',
  interpolation: 'input.filter',
  mean: 'input.mean',
  std: 'input.std',
  limitPixels: 'input.limitPixels',
  limitInputPixels: 'input.limitPixels',
  transforms: 'input: { resize, size, mean, std … } has the steps, and a preset those of its family.',
  weights: 'the model is the first argument, and preset says how it is used.',
  task: 'preset says what the model is.',
  batch: 'pictures run in batches as large as the model takes.',
  stream: streams,
}

/** Of what a detector suppresses. */
const ofSuppression: Hints = {
  iou: 'suppress.iouThreshold',
  iouThreshold: 'suppress.iouThreshold',
  nms_thresh: 'suppress.iouThreshold',
  box_nms_thresh: 'suppress.iouThreshold',
  max_det: 'suppress.maximum',
  detections_per_img: 'suppress.maximum',
  agnostic_nms: 'suppress.perClass=false',
  nms: 'suppress',
  conf: 'scoreThreshold',
  score_thresh: 'scoreThreshold',
  box_score_thresh: 'scoreThreshold',
  classes: byClass,
}

/** Of calls of a task. */
const ofCalls: Hints = {
  ...Object.fromEntries(
    ['imgsz', 'size', 'half', 'fp16', 'device', 'max_det', 'agnostic_nms', 'input', 'suppress', 'lanes'].map((name) => [
      name,
      ofLoad,
    ]),
  ),
  verbose: logs,
  stream: streams,
  classes: byClass,
  batch: 'an array of pictures gives an array of answers, in batches as large as the model takes.',
  save: 'drawBoxes and writeImage of node-tensorrt/vision draw what was found, and write it.',
  show: 'drawBoxes and writeImage of node-tensorrt/vision draw what was found, and write it.',
}

const laid = 'letterbox, stretch, padToSquare and centerCrop say it: toTensor(picture, (size) => letterbox(size, 640)).'
const shrunk = 'shrink makes a picture smaller; toTensor lays it in the input of a model.'
const loads = ['Classifier', 'Detector', 'FaceBlur', 'Segmenter']

/** Which calls have which hints; the first that fits. For the tests, too. */
export const strangers: readonly { readonly owners: readonly string[]; readonly hints: Hints }[] = [
  { owners: ['Detector', 'FaceBlur'], hints: ofSuppression },
  {
    owners: ['Segmenter'],
    hints: {
      conf: 'output.threshold',
      threshold: 'output.threshold',
      scoreThreshold: 'output.threshold',
      classes: 'output.classes',
    },
  },
  {
    owners: ['Classifier'],
    hints: {
      topk: 'top',
      top_k: 'top',
      k: 'top',
      conf: 'it has no threshold: top says how many classes are given.',
      activation: 'output.activation',
    },
  },
  { owners: ['Classifier', 'Detector', 'FaceBlur'], hints: { names: 'labels' } },
  { owners: loads, hints: ofInput },
  { owners: ['Engine', ...loads], hints: loading },
  { owners: ['tensorrt'], hints: { ...ofBuilder('builder.'), path: 'library', graph: 'cudaGraph', gpu: 'device' } },
  {
    owners: ['cpu'],
    hints: {
      graphOptimizationLevel: 'optimization',
      intraOpNumThreads: 'threads',
      numThreads: 'threads',
      interOpNumThreads: inOrder,
      path: 'library',
      extra: 'config',
      sessionOptions: 'config',
    },
  },
  {
    owners: ['Builder'],
    hints: {
      ...ofBuilder(''),
      minShapes: ofBuild,
      optShapes: ofBuild,
      maxShapes: ofBuild,
      shapes: ofBuild,
      maxBatchSize: ofBuild,
      saveEngine: 'plan.save(path) writes what build() gives.',
      verbose: logs,
    },
  },
  {
    owners: ['build'],
    hints: {
      minShapes: 'shapes',
      optShapes: 'shapes',
      maxShapes: 'shapes',
      saveEngine: 'plan.save(path) writes what build() gives.',
      ...Object.fromEntries(Object.keys(precisions('')).map((name) => [name, 'new Builder({ precision }) says it.'])),
      precision: 'new Builder({ precision }) says it.',
      workspace: 'new Builder({ workspace }) says it.',
    },
  },
  {
    owners: ['infer', 'inferSync'],
    hints: {
      preferredOutputLocation: 'location',
      outputNames: 'outputs',
      fetches: 'outputs',
      shapes: 'shapes is an option of load(), and each input tensor has its own.',
    },
  },
  { owners: ['letterbox'], hints: { stride: 'multipleOf' } },
  { owners: ['infer'], hints: { terminate: 'signal' } },
  { owners: ['detectVideo', 'segmentVideo'], hints: { vid_stride: 'every' } },
  { owners: ['classify', 'detect', 'segment', 'matte', 'blur'], hints: { preset: ofLoad } },
  {
    owners: ['warmup'],
    hints: {
      runs: 'iterations',
      count: 'iterations',
      times: 'iterations',
      batchSize: 'shapes',
      optShapes: 'shapes',
      feeds: 'inputs',
    },
  },
  {
    owners: ['benchmark'],
    hints: {
      warmUp: 'warmUpMs',
      duration: 'durationMs',
      useCudaGraph: 'cudaGraph',
      useSpinWait: 'spinWait',
      dumpProfile: 'layers',
      sleepTime: 'sleepMs',
      idleTime: 'idleMs',
      infStreams: 'streams',
      noDataTransfers: 'transfers=false',
      percentile: 'percentiles',
    },
  },
  { owners: ['classify'], hints: { topk: 'top', top_k: 'top', k: 'top', names: 'labels' } },
  { owners: ['detect', 'blur'], hints: { names: 'labels' } },
  {
    owners: ['classify', 'detect', 'segment', 'matte', 'blur', 'detectVideo', 'segmentVideo', 'blurVideo'],
    hints: ofCalls,
  },
  {
    owners: ['toTensor', 'toTensorSync'],
    hints: {
      fit: laid,
      resize: laid,
      size: laid,
      width: laid,
      height: laid,
      imgsz: laid,
      crop_size: laid,
      resize_size: laid,
      fill: laid,
      background: laid,
      kernel: 'filter',
      interpolation: 'filter',
      bgr: "order='BGR'",
      channels: 'order',
      normalize: 'range, mean and std say it.',
      half: "dtype='float16'",
      fp16: "dtype='float16'",
    },
  },
  {
    owners: ['letterbox', 'padToSquare', 'centerCrop'],
    hints: {
      background: 'fill',
      color: 'fill',
      value: 'fill',
      kernel: 'filter of toTensor says it.',
      filter: 'filter of toTensor says it.',
      interpolation: 'filter of toTensor says it.',
    },
  },
  {
    owners: ['readImage', 'pictures'],
    hints: {
      limitInputPixels: 'limitPixels',
      pages: 'page',
      animated: 'page',
      autoOrient: 'orient',
      rotate: 'orient',
      flatten: 'background',
      width: 'shrink',
      height: 'shrink',
      size: shrunk,
      resize: shrunk,
      fit: shrunk,
      kernel: shrunk,
      withoutEnlargement: shrunk,
    },
  },
  {
    owners: ['encodeImage', 'writeImage'],
    hints: {
      mozjpeg: 'optimize',
      format: 'the ending of the path says it; of encodeImage the second argument.',
    },
  },
  {
    owners: ['blurRegions', 'blurMask'],
    hints: {
      radius: 'strength',
      sigma: 'strength',
      ksize: 'strength',
      fill: "method='fill'",
      pixelate: "method='pixelate'",
    },
  },
  {
    owners: ['drawBoxes', 'drawPolygons'],
    hints: { line_width: 'lineWidth', thickness: 'lineWidth', width: 'lineWidth' },
  },
  { owners: ['drawBoxes'], hints: { font_size: 'fontSize' } },
  {
    owners: ['nonMaxSuppression', 'suppress'],
    hints: {
      max_det: 'maximum',
      detections_per_img: 'maximum',
      agnostic_nms: 'perClass=false',
      classes: byClass,
      maxDetections: 'maximum',
    },
  },
  { owners: ['topK'], hints: { topk: 'k is the second argument.', k: 'k is the second argument.' } },
  {
    owners: ['batching'],
    hints: {
      max_batch_size: 'maxBatch',
      maxBatchSize: 'maxBatch',
      preferred_batch_size: 'preferred',
      max_queue_delay_microseconds: 'maxDelayMs',
      timeout: 'maxDelayMs',
      max_queue_size: 'queue',
    },
  },
  {
    owners: ['serve'],
    hints: {
      model_repository: 'modelRepository',
      repository: 'modelRepository',
      model: 'models',
      port: 'http.port',
      httpPort: 'http.port',
      http_port: 'http.port',
      grpcPort: 'grpc.port',
      grpc_port: 'grpc.port',
      host: 'http.address',
      metricsPort: 'metrics.port',
      metrics_port: 'metrics.port',
      logVerbose: 'log.verbose',
      ...Object.fromEntries(
        [
          'max_batch_size',
          'instance_group',
          'dynamic_batching',
          'platform',
          'batching',
          'lanes',
          'maxBatch',
          'input',
          'output',
        ].map((name) => [name, ofConfig]),
      ),
      tensorrt: 'engine.tensorrt',
      cache: 'engine.cache',
      backend: 'engine.backend',
      gpus: 'engine.gpus',
    },
  },
]

/** Wherever a call has an option of that name. */
const anywhere: Hints = {
  iou: 'iouThreshold',
  nms_thresh: 'iouThreshold',
  conf: 'scoreThreshold',
  score_thresh: 'scoreThreshold',
  confThreshold: 'scoreThreshold',
  threshold: 'scoreThreshold',
}

/**
 * What to say of an option that another program has, where this call, `owner`, has a place for it: the words, and the
 * place where there is one.
 */
export function strangerOf(
  name: string,
  owner: string,
  known: readonly string[],
): { readonly words: string; readonly place?: string } | undefined {
  const hints = strangers.filter(({ owners }) => owners.includes(owner)).map((each) => each.hints)
  for (const each of [...hints, anywhere]) {
    const hint = Object.hasOwn(each, name) ? each[name]! : undefined
    if (hint?.endsWith('.')) return { words: hint }
    const [place = '', value] = hint?.split('=') ?? []
    const [first = ''] = place.split('.')
    if (known.includes(first)) return { words: wordsOf(place, value), place }
  }
  return undefined
}

/** "cpu: { threads } is its place.", "scoreThreshold is its name.", "precision: 'fp16' says it." */
function wordsOf(place: string, value: string | undefined): string {
  const names = place.split('.')
  const last = names.at(-1)! + (value === undefined ? '' : `: ${value}`)
  if (names.length === 1) return value === undefined ? `${last} is its name.` : `${last} says it.`
  const text = names.slice(0, -1).reduceRight((inner, outer) => `${outer}: { ${inner} }`, last)
  return `${text} is its place.`
}
