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
  program('driver', 1, 20, { 'finds every GPU': ['C10'], 'loads every function of the driver': ['C10'] }, 'driver'),
  program('relu', 1, 60, {
    'finds a TensorRT that builds and runs': [],
    'builds and runs a Relu': ['C11'],
    'answers a synchronous call': [],
  }),
]

/** The declaration of a program. */
export function programNamed(name: string): Program {
  const found = programs.find((each) => each.name === name)
  if (found === undefined) throw new Error(`Expected the name of a program of test/gpu but received '${name}'.`)
  return found
}
