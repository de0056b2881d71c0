import { readFileSync } from 'node:fs'
import { cpus, freemem, totalmem } from 'node:os'

/** How busy the machine's processors were between two looks. */
export class CpuUse {
  #before = times()

  /** From 0 to 1, since the last call or since this was made. */
  share(): number {
    const now = times()
    const total = now.total - this.#before.total
    const idle = now.idle - this.#before.idle
    this.#before = now
    return total > 0 ? Math.min(1, Math.max(0, 1 - idle / total)) : 0
  }
}

/** Milliseconds of all processors since the machine started. */
function times(): { readonly idle: number; readonly total: number } {
  const all = cpus().map(({ times: { user, nice, sys, idle, irq } }) => ({
    idle,
    total: user + nice + sys + idle + irq,
  }))
  return all.reduce((sum, each) => ({ idle: sum.idle + each.idle, total: sum.total + each.total }), {
    idle: 0,
    total: 0,
  })
}

/** Bytes; what is used is what programs could not get, which the kernel's caches are not part of. */
export function memoryInfo(): { readonly total: number; readonly used: number } {
  const total = totalmem()
  return { total, used: total - (availableBytes() ?? freemem()) }
}

function availableBytes(): number | undefined {
  try {
    const [, kibibytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? []
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
  } catch {
    return undefined
  }
}
