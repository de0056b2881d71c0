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

/** The first that fits a frame says whose work it is, from the innermost frame outwards. */
const rules: readonly (readonly [RegExp, Part])[] = [
  [/^\(garbage collector\)/, 'collector'],
  [/lib\/serve\/(wire|http\/json)/, 'json'],
  [/lib\/serve\/models\/slots\.js|lib\/serve\/http\/intake\.js/, 'slot'],
  [/lib\/backend\/completions\.js/, 'completion'],
  [/lib\/serve\/http\/(answer|outputs)\.js/, 'reply'],
  [/lib\/serve\/http\/body\.js/, 'socket'],
  [/lib\/serve\/(http|operations)\//, 'frontEnd'],
  [/lib\/(serve\/models|engine|backend|tensor|base|device-tensor)/, 'infer'],
  [/node:(net|_http|internal\/(stream|http|js_stream|net)|stream|events)|node_modules\//, 'socket'],
]

type Nodes = ReadonlyMap<number, Profiler.ProfileNode>

/** Which share of the time that the thread worked went to each part: 1 in all. */
export function shares({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Record<Part, number> {
  const byId: Nodes = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const partOf = new Map(nodes.map(({ id }) => [id, partOfStack(byId, parents, id)]))
  const times = Object.fromEntries(Object.keys(parts).map((part) => [part, 0])) as Record<Part, number>
  let total = 0
  for (const [i, sample] of samples.entries()) {
    const part = partOf.get(sample)
    const took = timeDeltas[i] ?? 0
    if (part === undefined || took <= 0) continue
    times[part] += took
    total += took
  }
  return Object.fromEntries(Object.entries(times).map(([part, time]) => [part, time / total])) as Record<Part, number>
}

/** Nothing for a thread that waits. */
function partOfStack(nodes: Nodes, parents: ReadonlyMap<number, number>, innermost: number): Part | undefined {
  if (nodes.get(innermost)?.callFrame.functionName === '(idle)') return undefined
  for (let id: number | undefined = innermost; id !== undefined; id = parents.get(id)) {
    const frame = nodes.get(id)?.callFrame
    const text = frame?.url === '' ? frame.functionName : (frame?.url ?? '')
    const rule = rules.find(([pattern]) => pattern.test(text))
    if (rule !== undefined) return rule[1]
  }
  return 'native'
}
