// Models in JavaScript that tests write, and what is left of them.
import { readModelConfig, scanRepositories } from '../../../lib/serve/repository/scan.js'
import { loadVersion } from '../../../lib/serve/models/load-version.js'
import { liveWorkers } from '../../../lib/serve/node/module-worker.js'
import { NodeModel } from '../../../lib/serve/node/node-model.js'
import type { ModelSettings } from '../../../lib/serve/models/settings.js'
import type { Fault } from '../../../lib/serve/faults.js'
import type { ServableRequest } from '../../../lib/serve/models/servable.js'
import { Cut } from '../../../lib/base/cancellation.js'
import type { WireTensor } from '../../../lib/kserve/tensor.js'
import { certain } from '../../support/waiting.js'
import { type Files, repository, wire } from '../models/folders.js'

type Teardown = Parameters<typeof repository>[0]

/** x and y of four floats. */
export const four =
  'input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]'

/** `backend: "node"` and what the text adds; x and y unless it has an input. */
export function configOf(text = ''): string {
  return `backend: "node" ${text.includes('input [') ? '' : four} ${text}`
}

export interface Written {
  /** The whole of the module. */
  readonly code: string
  /** What config.pbtxt has beside its backend. */
  readonly config?: string
  /** Default model.js. */
  readonly file?: string
  readonly more?: Files
}

export function writeModel(
  t: Teardown,
  { code, config = '', file = 'model.js', more = {} }: Written,
  name = 'm',
): string {
  return repository(t, { [`${name}/config.pbtxt`]: configOf(config), [`${name}/1/${file}`]: code, ...more })
}

/** What a model told. */
export interface Told {
  readonly warnings: string[]
  readonly output: string[]
  readonly failures: string[]
}

export interface Loaded extends Told {
  readonly model: NodeModel
}

export interface LoadOptions extends Partial<ModelSettings> {
  readonly signal?: AbortSignal
}

/** The only model of a repository that a test wrote. It is closed with the test. */
export async function load(t: Teardown, written: Written, options: LoadOptions = {}): Promise<Loaded> {
  return loadFrom(t, writeModel(t, written), options)
}

export async function loadFrom(t: Teardown, folder: string, options: LoadOptions = {}): Promise<Loaded> {
  const { signal = new AbortController().signal, ...more } = options
  const { models } = await scanRepositories([folder])
  const [found] = models.values()
  if (found === undefined) throw new Error('the repository is empty')
  const config = await readModelConfig(found)
  const told: Told = { warnings: [], output: [], failures: [] }
  const settings: ModelSettings = {
    autoComplete: true,
    engine: {},
    onWarning: (text) => void told.warnings.push(text),
    onOutput: (line, stream) => void told.output.push(`${stream}: ${line}`),
    onFailure: (reason) => void told.failures.push(reason),
    exitTimeoutMs: 60_000,
    ...more,
  }
  const model = await loadVersion({ folder: found, version: found.versions.at(-1) ?? '', config, settings, signal })
  if (!(model instanceof NodeModel)) throw new Error('the model is not in JavaScript')
  t.teardown(() => model.close())
  return { model, ...told }
}

export function x(values: readonly number[], rows?: number): WireTensor {
  return wire('x', values, rows === undefined ? [values.length] : [rows, values.length / rows])
}

/** What a request of x gets. */
export function ask(
  model: NodeModel,
  values: readonly number[],
  more: Partial<ServableRequest> = {},
  cut = new Cut(),
): Promise<readonly WireTensor[]> {
  const rows = model.config.maxBatchSize > 0 ? values.length / 4 : undefined
  return model.infer({ inputs: [x(values, rows)], ...more }, cut)
}

/** Kind and text of a request that fails. */
export async function faultOf(failing: Promise<unknown>): Promise<readonly [kind: string, text: string]> {
  try {
    await failing
  } catch (error) {
    return [(error as Fault).kind, (error as Fault).message]
  }
  throw new Error('expected a failure, but there is a result')
}

/** Texts with their lengths before them. */
export function texts(name: string, list: readonly string[], shape: readonly number[] = [list.length]): WireTensor {
  const parts = list.flatMap((text) => {
    const bytes = Buffer.from(text)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    return [length, bytes]
  })
  return { name, datatype: 'BYTES', shape, bytes: new Uint8Array(Buffer.concat(parts)) }
}

export function textsOf({ bytes }: WireTensor): string[] {
  const found: string[] = []
  const all = Buffer.from(bytes)
  for (let at = 0; at < all.length;) {
    const length = all.readUInt32LE(at)
    found.push(all.toString('utf8', at + 4, at + 4 + length))
    at += 4 + length
  }
  return found
}

/** No thread is left of any model. */
export async function noThreadLeft(): Promise<boolean> {
  await certain(() => liveWorkers.size === 0)
  return true
}
