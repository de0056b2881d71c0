/** Processor time of a process, by thread, as Linux counts it. */
import { readdirSync, readFileSync } from 'node:fs'

/** Nanoseconds by number of thread. */
export type ThreadTimes = ReadonlyMap<number, number>

export function threadTimes(pid: number): ThreadTimes {
  const folder = `/proc/${pid}/task`
  const times = new Map<number, number>()
  for (const thread of readdirSync(folder)) {
    try {
      const [ran] = readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')
      times.set(Number(thread), Number(ran))
    } catch {
      // it has ended
    }
  }
  return times
}

/** Of the main thread and of all others, between two looks. */
export function spent(
  pid: number,
  before: ThreadTimes,
  after: ThreadTimes,
): { readonly main: number; readonly others: number } {
  const of = (thread: number): number => (after.get(thread) ?? 0) - (before.get(thread) ?? 0)
  const all = [...after.keys()].reduce((sum, thread) => sum + of(thread), 0)
  return { main: of(pid), others: all - of(pid) }
}
