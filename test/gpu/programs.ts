// The checks that run on a GPU, as a list of programs in the order of their worth. docs/design/gpu-checks.md says for
// each check which belief it can refute, and where its expected value comes from.

/** A belief about the driver or TensorRT that nothing real had confirmed when this list was written. */
export type Belief = 'C1' | 'C2' | 'C3' | 'C4' | 'C5' | 'C6' | 'C7' | 'C8' | 'C9' | 'C10' | 'C11' | 'D1'

/** The software that a program requires on the machine. */
export type Need = 'nothing' | 'driver' | 'tensorrt'

/** A program of checks. Each runs in a separate process. */
export interface Program {
  readonly name: string
  /** The visit to a GPU machine, which lasts some minutes, for which the program is planned. */
  readonly visit: 1 | 2 | 3
  /** Seconds after which the process is killed. */
  readonly limitSeconds: number
  readonly needs: Need
  /** The compiled file, relative to the folder of this module. */
  readonly file: string
  /** Beliefs that each check can refute, by the name of the check. */
  readonly checks: Readonly<Record<string, readonly Belief[]>>
}

const program = (
  name: string,
  visit: Program['visit'],
  limitSeconds: number,
  checks: Program['checks'],
  needs: Need = 'tensorrt',
): Program => ({ name, visit, limitSeconds, needs, file: `${name}.js`, checks })

/** In the order in which `run.js` runs them. */
export const programs: readonly Program[] = [
  program('driver', 1, 20, { 'loads every function of the driver': ['C10'], 'finds every GPU': ['C10'] }, 'driver'),
  program('relu', 1, 60, {
    'finds a TensorRT that builds and runs': [],
    'builds and runs a Relu': [],
    'answers a synchronous call': [],
  }),
  program('convolution', 1, 60, {
    'computes what onnxruntime computes': [],
    'computes the same bits on 8 lanes': [],
    'computes the same bits in both slots': [],
    'computes the same bits with CUDA graphs': ['C5'],
    'computes the same bits while shapes alternate': ['C5'],
    'computes the same bits while profiles alternate': ['C5', 'C6'],
  }),
  program('sizes', 1, 30, {
    'runs an engine without scratch memory': ['C5'],
    'measures the layers of an engine without scratch memory': ['C5'],
    'runs an input without elements': ['C11'],
  }),
  program('dependent', 1, 60, {
    'finds the elements that are not zero': ['C2', 'C3'],
    'learns a shape before enqueueV3 returns': ['C3'],
    'learns every dimension of a shape': ['C3'],
    'has no temporary memory once enqueueV3 has returned': ['C2'],
    'keeps the boxes that onnxruntime keeps, 32 boxes': ['C2', 'C3'],
    'keeps the boxes that onnxruntime keeps, 7 boxes': ['C2', 'C3'],
  }),
  program('graphs', 1, 60, {
    'captures and launches a shape that recurs': ['C5', 'C8'],
    'captures while another lane waits for contexts': ['C11'],
    'computes the values of onnxruntime from graphs': ['C5', 'C11'],
  }),
  program('shapes', 1, 40, {
    'reads the values of a shape tensor': ['C11'],
    'returns a shape as an output': ['C11'],
  }),
  program('plugins', 1, 40, { 'builds and loads EfficientNMS_TRT': ['C1'] }),
  program('headers', 1, 60, {
    'has a known header': ['C4'],
    'has a known header with a lean runtime': ['C4'],
    'has a known header without a lean runtime': ['C4'],
  }),
  program('recordings', 1, 100, {
    'no scenario ends the process': [],
    'a recording fits into 8 files of 16 MiB': [],
    'does what was recorded earlier': [],
  }),
  program('large', 1, 60, {
    'computes 100 MiB with one request in flight': ['D1'],
    'computes 100 MiB with two requests in flight': ['D1'],
  }),
  program('end', 2, 120, {
    'exits while inferences run': [],
    'exits during a build': [],
    'ends by itself after inferences that nothing awaits': [],
  }),
  program('memory', 2, 60, {
    'accounts for inputs and outputs': ['C8'],
    'accounts for captured CUDA graphs': ['C8'],
    'rejects what exceeds the limit, and goes on': ['C8'],
  }),
  program('refit', 2, 60, {
    'the references of both models differ': [],
    'computes with weights from ONNX': [],
    'computes with the weights from before': [],
    'strips a plan of its weights': [],
    'runs a stripped plan with the weights of its model': [],
  }),
  program('calibration', 2, 90, {
    'writes a cache of entropy calibration': ['C11'],
    'builds from a cache of entropy calibration': ['C11'],
    'computes in INT8 after entropy calibration': [],
    'writes a cache of minmax calibration': ['C11'],
    'builds from a cache of minmax calibration': ['C11'],
    'computes in INT8 after minmax calibration': [],
  }),
  program('portability', 2, 60, {
    'rejects a lean runtime inside a plan by default': ['C4'],
    'runs a plan with a lean runtime': ['C4'],
    'runs a plan without a lean runtime': ['C4'],
  }),
  program('builds', 2, 90, {
    'rejects an aborted build with its reason': [],
    'builds after an aborted build': [],
    'builds with the timing cache of an earlier build': [],
    'finds a plan in the engine cache': [],
  }),
  program('exhaustion', 2, 90, {
    'rejects what the device has no memory for': ['C8', 'C10'],
    'rejects an inference without memory': ['C8'],
    'runs once there is memory again': ['C8'],
  }),
  program('efficient-nms', 2, 40, { 'keeps the boxes that onnxruntime keeps': ['C1'] }),
  program('runtimes', 3, 40, {
    'finds the library and its version': [],
    'loads the runtime, which rejects an empty plan': ['C10'],
    'builds, or gives the reason why not': [],
  }),
  program('server', 3, 120, {
    'answers 64 clients while the model is replaced': [],
    'holds no more memory after 60 reloads than after 10': ['C8'],
  }),
  program('sessions', 3, 120, {
    'a session grows with the shapes that come': [],
    'a second session builds nothing': [],
  }),
]

/** The declaration of a program. */
export function programNamed(name: string): Program {
  const found = programs.find((each) => each.name === name)
  if (found === undefined) throw new Error(`Expected the name of a program of test/gpu but received '${name}'.`)
  return found
}
