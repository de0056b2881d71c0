// Repositories that tests write.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Cut } from '../../../lib/base/cancellation.js'
import { readModelConfig, scanRepositories } from '../../../lib/serve/repository/scan.js'
import { EngineModel } from '../../../lib/serve/models/engine-model.js'
import type { ModelSettings } from '../../../lib/serve/models/settings.js'
import type { Datatype, WireTensor } from '../../../lib/kserve/tensor.js'
import { temporaryFolder } from '../../support/folders.js'

export type Files = Readonly<Record<string, string | Uint8Array>>

/** Writes files below a folder: `{ 'm/config.pbtxt': '', 'm/1/model.onnx': bytes }`. */
export function write(folder: string, files: Files): string {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
  return folder
}

export function remove(folder: string, name: string): void {
  rmSync(join(folder, name), { recursive: true, force: true })
}

export function repository(t: { teardown(end: () => unknown): unknown }, files: Files = {}): string {
  return write(temporaryFolder(t), files)
}

export const onCpu: ModelSettings = { autoComplete: true, engine: { backend: 'cpu' } }

/** The only model of a repository, in its highest version. */
export async function loadOnly(
  folder: string,
  settings = onCpu,
  signal: AbortSignal = new AbortController().signal,
): Promise<EngineModel> {
  const { models } = await scanRepositories([folder])
  const [found] = models.values()
  if (found === undefined) throw new Error('the repository is empty')
  const config = await readModelConfig(found, { autoComplete: settings.autoComplete })
  return EngineModel.load({ folder: found, version: found.versions.at(-1) ?? '', config, settings, signal })
}

export function wire(
  name: string,
  values: readonly number[],
  shape: readonly number[],
  datatype: Exclude<Datatype, 'BYTES'> = 'FP32',
): WireTensor {
  const arrays = {
    FP32: Float32Array,
    FP64: Float64Array,
    INT32: Int32Array,
    UINT8: Uint8Array,
    INT8: Int8Array,
  } as const
  if (datatype === 'INT64')
    return { name, datatype, shape, bytes: new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer) }
  const array = arrays[datatype as keyof typeof arrays].from(values as number[])
  return { name, datatype, shape, bytes: new Uint8Array(array.buffer) }
}

export function floats({ bytes }: WireTensor): number[] {
  return [...new Float32Array(bytes.slice().buffer)]
}

export const never = (): Cut => new Cut()

/** Some turns of the event loop. */
export async function turns(count = 3): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}
