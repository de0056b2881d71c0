import type { ProfileShapes } from '../../backend/backend.js'
import { TensorRTError } from '../../errors.js'
import type { ModelFacts } from './target.js'
import type { ProfileWish } from './settings.js'

type Range = ProfileWish[string]

/** What shapes come to: those of the build, and what is to be said of it. */
interface Resolved {
  readonly profiles: readonly Readonly<Record<string, ProfileShapes>>[]
  readonly warnings: readonly string[]
}

/**
 * The shapes for a build, by the model's inputs: names with a wildcard are found, and of min, opt and max those that
 * are missing are taken from others.
 * @throws TensorRTError ERR_TRT_UNKNOWN_INPUT; ERR_TRT_SHAPES_REQUIRED for a dynamic input without shapes, of which
 * trtexec makes 1
 */
export function resolveProfiles(wishes: readonly ProfileWish[], { inputs }: ModelFacts): Resolved {
  const warnings: string[] = []
  const names = inputs.map(({ name }) => name)
  const dynamic = inputs.filter(({ shape }) => shape?.every((size) => typeof size === 'number' && size >= 0) !== true)
  if (dynamic.length === 0 && wishes.length > 0)
    warnings.push('The model is static: shapes are only held against its own')
  const profiles = wishes.map((wish) => {
    const taken = takenBy(wish, names)
    refuseMissing(dynamic, taken)
    return Object.fromEntries([...taken].map(([name, range]) => [name, complete(name, range, warnings)]))
  })
  if (wishes.length === 0) refuseMissing(dynamic, new Map())
  return { profiles, warnings }
}

/**
 * What is given for names that may hold a `*`, by the names that are there. @throws TensorRTError ERR_TRT_UNKNOWN_INPUT
 */
export function takenBy<T>(wishes: Readonly<Record<string, T>>, names: readonly string[]): Map<string, T> {
  for (const pattern of Object.keys(wishes)) {
    if (names.some((name) => matches(pattern, name))) continue
    const have = names.map((name) => `'${name}'`).join(', ')
    throw new TensorRTError(
      'ERR_TRT_UNKNOWN_INPUT',
      `Cannot find input tensor with name "${pattern}" in the network inputs, which are ${have}`,
    )
  }
  const taken = new Map<string, T>()
  for (const name of names) {
    const patterns = Object.keys(wishes).filter((pattern) => matches(pattern, name))
    const exact = patterns.find((pattern) => pattern === name)
    if (exact === undefined && patterns.length > 1)
      throw new TensorRTError(
        'ERR_TRT_INVALID_ARGUMENT',
        `Input '${name}' is meant by several names with '*': ${patterns.join(', ')}`,
      )
    const found = exact ?? patterns[0]
    if (found !== undefined) taken.set(name, wishes[found] as T)
  }
  return taken
}

function matches(pattern: string, name: string): boolean {
  const star = pattern.indexOf('*')
  if (star < 0) return pattern === name
  const [head, tail] = [pattern.slice(0, star), pattern.slice(star + 1)]
  return name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail)
}

function refuseMissing(dynamic: ModelFacts['inputs'], taken: ReadonlyMap<string, unknown>): void {
  const missing = dynamic.find(({ name }) => !taken.has(name))
  if (missing === undefined) return
  const { name, shape } = missing
  const example = `${name}:${shape?.map((size) => (typeof size === 'number' && size >= 0 ? size : 'N')).join('x') ?? 'N'}`
  throw new TensorRTError(
    'ERR_TRT_SHAPES_REQUIRED',
    `Input '${name}' is dynamic, and no shapes were given, of which trtexec makes 1 in each dimension: give --minShapes=${example}, and --optShapes and --maxShapes where they differ`,
  )
}

/** Where an input has not all three: opt before max for min, max before min for opt, opt before min for max. */
function complete(name: string, { min, opt, max }: Range, warnings: string[]): ProfileShapes {
  const from = (missing: string, ...others: [string, readonly number[] | undefined][]): readonly number[] => {
    const [other, shape] = others.find(([, each]) => each !== undefined) ?? ['', []]
    warnings.push(`${other}Shapes is being broadcasted to ${missing}Shapes for tensor ${name}`)
    return shape ?? []
  }
  return {
    min: min ?? from('min', ['opt', opt], ['max', max]),
    opt: opt ?? from('opt', ['max', max], ['min', min]),
    max: max ?? from('max', ['opt', opt], ['min', min]),
  }
}
