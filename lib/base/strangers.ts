/**
 * Options of other programs (onnxruntime, ultralytics, torchvision, trtexec), and what has their place here: the first
 * of these options that the call knows, with the words for it.
 */
const strangers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  executionProviders: { backend: "backend: 'tensorrt', 'cpu' or 'auto' chooses the runtime." },
  graphOptimizationLevel: { cpu: 'cpu: { optimization } is its place.' },
  freeDimensionOverrides: { shapes: 'shapes gives the sizes of dynamic inputs.' },
  intraOpNumThreads: { cpu: 'cpu: { threads } is its place.' },
  interOpNumThreads: { cpu: 'the graph runs on one thread after the other: cpu: { threads } are those of a layer.' },
  enableProfiling: { lanes: 'engine.layers() and engine.benchmark({ layers: true }) measure layers.' },
  imgsz: { input: 'input: { size } is its place.' },
  size: { input: 'input: { size } is its place.' },
  iou: {
    iouThreshold: 'iouThreshold is its name.',
    output: 'output: { iouThreshold } is its place where a model needs suppression.',
  },
  threshold: { scoreThreshold: 'did you mean scoreThreshold?' },
  conf: { scoreThreshold: 'scoreThreshold is its name.', output: 'output: { scoreThreshold } is its place.' },
  half: inBuilder("'fp16'"),
  fp16: inBuilder("'fp16'"),
  bf16: inBuilder("'bf16'"),
  int8: inBuilder("'int8'"),
  precision: { tensorrt: 'tensorrt: { builder: { precision } } is its place.' },
  maxBatchSize: { batching: 'batching: { … } makes batches of calls.' },
}

function inBuilder(name: string): Readonly<Record<string, string>> {
  const words = `precision: ${name}`
  return { precision: `${words} says it.`, tensorrt: `tensorrt: { builder: { ${words} } } is its place.` }
}

/** What to say of an option that another program has, where the call has a place for it. */
export function strangerOf(name: string, known: readonly string[]): string | undefined {
  if (!Object.hasOwn(strangers, name)) return undefined
  return Object.entries(strangers[name] ?? {}).find(([place]) => known.includes(place))?.[1]
}
