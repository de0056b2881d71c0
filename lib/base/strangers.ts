/**
 * Options of other programs (onnxruntime, ultralytics, torchvision, trtexec), and what has their place here: the first
 * of these options that the call knows, with the words for it.
 */
const strangers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  executionProviders: { backend: "backend: 'tensorrt', 'cpu' or 'auto' chooses the runtime." },
  graphOptimizationLevel: {
    cpu: 'cpu: { optimization } is its place.',
    onnxruntime: 'onnxruntime: { optimization } is its place.',
  },
  freeDimensionOverrides: { shapes: 'shapes gives the sizes of dynamic inputs.' },
  intraOpNumThreads: { threads: 'threads is its name.', cpu: 'cpu: { threads } is its place.' },
  imgsz: { input: 'input: { size } is its place.' },
  iou: {
    iouThreshold: 'iouThreshold is its name.',
    output: 'output: { iouThreshold } is its place where a model needs suppression.',
  },
  threshold: { scoreThreshold: 'did you mean scoreThreshold?' },
  conf: { scoreThreshold: 'scoreThreshold is its name.', output: 'output: { scoreThreshold } is its place.' },
  half: { builder: "builder: { precision: 'fp16' } is its place.", tensorrt: 'tensorrt: { builder } is its place.' },
  fp16: { precision: "precision: 'fp16' says it.", builder: "builder: { precision: 'fp16' } is its place." },
  precision: { builder: 'builder: { precision } is its place.', tensorrt: 'tensorrt: { builder } is its place.' },
  maxBatchSize: { batching: 'batching: { … } makes batches of calls.' },
  workspace: { memoryLimit: 'memoryLimit is its name.' },
}

/** What to say of an option that another program has, where the call has a place for it. */
export function strangerOf(name: string, known: readonly string[]): string | undefined {
  if (!Object.hasOwn(strangers, name)) return undefined
  return Object.entries(strangers[name] ?? {}).find(([place]) => known.includes(place))?.[1]
}
