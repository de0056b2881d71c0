/** The commands of `trt` in the order of its help, each in one line. */
export const summaries = {
  build: 'build a plan from ONNX',
  run: 'run a model on files: tensors, or pictures with answers for people',
  video: 'find things in videos, draw them, or hide them',
  bench: 'measure a model, as trtexec does and as an application sees it',
  exec: "take trtexec's own options: build a plan and measure it",
  serve: 'serve a repository of models over HTTP, as Triton does',
  convert: 'give an ONNX model half precision, newer operators, or pictures of any size',
  quantize: 'make an INT8 model of an ONNX model and data',
  compare: 'say how far the outputs of two models are from each other',
  inspect: 'say what a model or a plan is, and draw it',
  audit: 'say what an engine is made of, and where its time goes',
  cache: 'list or clear the plans that are kept',
  doctor: 'say what this machine has, and what mends what is missing',
  completion: 'print what has a shell complete these commands',
} as const

export type CommandName = keyof typeof summaries

/** Other names of commands. */
export const aliases: Readonly<Partial<Record<CommandName, string>>> = { exec: 'trtexec' }
