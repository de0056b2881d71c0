/** A profile of V8, by what a request is made of. */
import type { Profiler } from 'node:inspector'

/** Parts of the work of the thread that has the event loop. */
export const parts = {
  socket: 'socket, parser, fastify',
  frontEnd: 'limits, counters, order of it all',
  json: 'JSON, read and written',
  slot: 'slot',
  infer: 'infer: checks and submission',
  completion: 'completion',
  reply: 'reply',
  native: 'outside of JavaScript: libuv, its reads, microtasks',
  collector: 'garbage collector',
} as const

export type Part = keyof typeof parts

/**
 * The first that fits a frame of ours says whose work it is, from the innermost frame outwards: what Node does for one
 * of these is its work.
 */
const rules: readonly (readonly [RegExp, Part])[] = [
  [/^\(garbage collector\)/, 'collector'],
  [/lib\/serve\/(wire|http\/json)/, 'json'],
  [/lib\/serve\/models\/slots\.js|lib\/serve\/http\/intake\.js/, 'slot'],
  [/lib\/backend\/completions\.js/, 'completion'],
  [/lib\/serve\/http\/(answer|outputs)\.js/, 'reply'],
  [/lib\/serve\/http\/body\.js/, 'socket'],
  [/lib\/serve\/(http|operations)\//, 'frontEnd'],
  [/lib\/(serve\/models|engine|backend|tensor|base|device-tensor)/, 'infer'],
]
const ofLibraries = /^node:|node_modules\//

type Nodes = ReadonlyMap<number, Profiler.ProfileNode>

/**
 * Which share of the samples of the working thread each part has: 1 in all. Samples and not their times: one is taken
 * once the thread runs again, so that what it lost to other threads counts little.
 */
export function shares({ nodes, samples = [] }: Profiler.Profile): Record<Part, number> {
  const byId: Nodes = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const partOf = new Map(nodes.map(({ id }) => [id, partOfStack(byId, parents, id)]))
  const counts = Object.fromEntries(Object.keys(parts).map((part) => [part, 0])) as Record<Part, number>
  let total = 0
  for (const sample of samples) {
    const part = partOf.get(sample)
    if (part === undefined) continue
    counts[part]++
    total++
  }
  return Object.fromEntries(Object.entries(counts).map(([part, count]) => [part, count / total])) as Record<
    Part,
    number
  >
}

/** Nothing for a thread that waits. */
function partOfStack(nodes: Nodes, parents: ReadonlyMap<number, number>, innermost: number): Part | undefined {
  if (nodes.get(innermost)?.callFrame.functionName === '(idle)') return undefined
  let isOfLibraries = false
  for (let id: number | undefined = innermost; id !== undefined; id = parents.get(id)) {
    const frame = nodes.get(id)?.callFrame
    const text = frame?.url === '' ? frame.functionName : (frame?.url ?? '')
    const rule = rules.find(([pattern]) => pattern.test(text))
    if (rule !== undefined) return rule[1]
    isOfLibraries ||= ofLibraries.test(text)
  }
  return isOfLibraries ? 'socket' : 'native'
}
