// The checks that run on a GPU, as a list of programs in the order of their worth. docs/design/gpu-checks.md says for
// each check which belief it can refute, and where its expected value comes from.

/** A belief about the driver or TensorRT that nothing real had confirmed when this list was written. */
export type Belief = 'C1' | 'C2' | 'C3' | 'C4' | 'C5' | 'C6' | 'C7' | 'C8' | 'C9' | 'C10' | 'C11' | 'D1'

/** What has to be on the machine before a program can check anything. */
export type Need = 'nothing' | 'driver' | 'tensorrt'

/** A program of checks, which runs in a process of its own. */
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
]

/** The declaration of a program. */
export function programNamed(name: string): Program {
  const found = programs.find((each) => each.name === name)
  if (found === undefined) throw new Error(`Expected the name of a program of test/gpu but received '${name}'.`)
  return found
}
