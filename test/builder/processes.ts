import { readdirSync, readFileSync } from 'node:fs'

/** The building processes that a process has started and that live, as the kernel tells. */
export function buildingProcesses(parent = process.pid): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent && isBuilding(pid))
}

/** The living building processes, whoever's children, that have a variable with this text. */
export function markedProcesses(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isBuilding(pid) && isAlive(pid) && contents(`/proc/${pid}/environ`).includes(mark))
}

/** The parent's id; nothing for a process that is gone, or dead and not yet waited for. */
function parentOf(pid: number): number | undefined {
  const [, state, parent] = /^\d+ \(.*\) (\S) (\d+)/s.exec(contents(`/proc/${pid}/stat`)) ?? []
  return state === undefined || 'ZX'.includes(state) ? undefined : Number(parent)
}

export const isAlive = (pid: number): boolean => parentOf(pid) !== undefined

const isBuilding = (pid: number): boolean => contents(`/proc/${pid}/cmdline`).includes('/building/child.js')

export function contents(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
