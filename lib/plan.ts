import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { NativeBuildResult } from './backend/native.js'
import type { NetworkAudit } from './building/audit.js'
import type { BuildSettings } from './building/builder-options.js'
import { expected, TensorRTError } from './errors.js'

/** How a plan came about. */
export type PlanInfo = Readonly<Omit<NativeBuildResult, 'plan' | 'settings' | 'audit'>> & {
  readonly settings: BuildSettings
  /** What the network was made of before TensorRT built it; what the engine is made of, {@link Engine.audit} tells on a device. */
  readonly audit: NetworkAudit
}

/** A serialized engine. It belongs to the TensorRT version, and unless RTX built it the GPU model, that built it. */
export class Plan {
  readonly bytes: Uint8Array
  readonly info: PlanInfo

  constructor(bytes: Uint8Array, info: PlanInfo) {
    this.bytes = bytes
    this.info = info
    Object.freeze(this)
  }

  /**
   * Writes the plan: to a temporary file beside `path`, synced, then renamed, so that there is never a part of one.
   * @throws TensorRTError ERR_TRT_FILE
   */
  async save(path: string): Promise<void> {
    if (typeof path !== 'string' || path === '') throw expected('a path', 'path', path)
    const target = resolve(path)
    const temporary = `${target}.${randomUUID()}.tmp`
    try {
      const file = await open(temporary, 'wx')
      try {
        await file.writeFile(this.bytes)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(temporary, target)
    } catch (error) {
      await rm(temporary, { force: true })
      const reason = error instanceof Error ? error.message : String(error)
      throw new TensorRTError('ERR_TRT_FILE', `Cannot save the plan as ${target}: ${reason}`, { cause: error, details: { path: target } })
    }
  }
}
