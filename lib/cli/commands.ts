import type { Commands } from './command.js'

/** The commands of `trt` in the order of its help. The file of one is loaded when it is called. */
export const commands = {
  build: ['build a plan from ONNX', () => import('./commands/build.js')],
  run: ['run a model on files: tensors, or pictures with answers for people', () => import('./commands/run.js')],
  video: ['find things in videos, draw them, or hide them', () => import('./commands/video.js')],
  bench: ['measure a model, as trtexec does and as an application sees it', () => import('./commands/bench.js')],
  exec: ["take trtexec's own options: build a plan and measure it", () => import('./commands/exec.js'), 'trtexec'],
  serve: ['serve a repository of models over HTTP, as Triton does', () => import('./commands/serve.js')],
  convert: [
    'give an ONNX model half precision, newer operators, or pictures of any size',
    () => import('./commands/convert.js'),
  ],
  quantize: ['make an INT8 model of an ONNX model and data', () => import('./commands/quantize.js')],
  compare: ['say how far the outputs of two models are from each other', () => import('./commands/compare.js')],
  inspect: ['say what a model or a plan is, and draw it', () => import('./commands/inspect.js')],
  audit: ['say what an engine is made of, and where its time goes', () => import('./commands/audit.js')],
  cache: ['list or clear the plans that are kept', () => import('./commands/cache.js')],
  doctor: ['say what this machine has, and what mends what is missing', () => import('./commands/doctor.js')],
  completion: ['print what has a shell complete these commands', () => import('./commands/completion.js')],
} as const satisfies Commands
