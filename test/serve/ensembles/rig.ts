// Repositories with ensembles of small models, and the manager that serves them.
import { Cut } from '../../../lib/base/cancellation.js'
import type { WireTensor } from '../../../lib/kserve/tensor.js'
import { Models } from '../../../lib/serve/models/manager.js'
import type { Servable } from '../../../lib/serve/models/servable.js'
import type { ModelEvent, ModelsSettings } from '../../../lib/serve/models/settings.js'
import { settingsOf } from '../models/stand-ins.js'
import { floats, wire } from '../models/folders.js'

/** `model(in1=T, in2=U -> out=V)`: a step in a line; `model:3(…)` is its version. */
export function stepText(line: string): string {
  const [, model = '', version, inputs = '', outputs = ''] = /^(\w+)(?::(-?\d+))?\((.*) -> (.*)\)$/.exec(line) ?? []
  if (model === '') throw new Error(`no step: ${line}`)
  const maps = (kind: string, list: string): string =>
    list
      .split(', ')
      .filter((each) => each !== '')
      .map((each) => `${kind} { key: "${each.split('=')[0] ?? ''}" value: "${each.split('=')[1] ?? ''}" }`)
      .join(' ')
  return `{ model_name: "${model}" model_version: ${version ?? -1} ${maps('input_map', inputs)} ${maps('output_map', outputs)} }`
}

/** `NAME TYPE [DIMS]`: `x FP32 [3]`. */
export function tensorText(kind: 'input' | 'output', line: string): string {
  const [, name = '', type = '', dims = ''] = /^(\w+) (\w+) \[(.*)\]$/.exec(line) ?? []
  return `${kind} { name: "${name}" data_type: TYPE_${type} dims: [ ${dims} ] }`
}

export interface EnsembleText {
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly steps: readonly string[]
  readonly maxBatch?: number
  readonly more?: string
  /** Beside the steps. */
  readonly scheduling?: string
}

/** A config.pbtxt. */
export function ensembleText({
  inputs,
  outputs,
  steps,
  maxBatch = 4,
  more = '',
  scheduling = '',
}: EnsembleText): string {
  return [
    `platform: "ensemble" max_batch_size: ${maxBatch} ${more}`,
    ...inputs.map((line) => tensorText('input', line)),
    ...outputs.map((line) => tensorText('output', line)),
    `ensemble_scheduling { ${scheduling}`,
    ...steps.map((line) => `step [ ${stepText(line)} ]`),
    '}',
  ].join('\n')
}

/** The files of an ensemble; its version has no file but its folder. */
export function ensemble(name: string, text: EnsembleText, version = '1'): Readonly<Record<string, string>> {
  return { [`${name}/config.pbtxt`]: ensembleText(text), [`${name}/${version}/.keep`]: '' }
}

export interface Served {
  readonly models: Models
  readonly events: ModelEvent[]
}

/** Models on onnxruntime, started. */
export async function served(folder: string, more: Partial<ModelsSettings> = {}): Promise<Served> {
  const events: ModelEvent[] = []
  const models = new Models(settingsOf(folder, { mode: 'none', onEvent: (event) => void events.push(event), ...more }))
  await models.start()
  return { models, events }
}

/** As a front-end asks: what it finds is entered, and left at the end. */
export async function ask(
  models: Models,
  name: string,
  inputs: readonly WireTensor[],
  { outputs, cut = new Cut() }: { readonly outputs?: readonly string[]; readonly cut?: Cut } = {},
): Promise<Readonly<Record<string, readonly number[]>>> {
  const servable: Servable = models.snapshot.find(name)
  const leave = servable.enter()
  try {
    const answer = await servable.infer({ inputs, outputs }, cut)
    return Object.fromEntries(answer.map((tensor) => [tensor.name, floats(tensor)]))
  } finally {
    leave()
  }
}

export const row = (name: string, ...values: readonly number[]): WireTensor => wire(name, values, [1, values.length])
