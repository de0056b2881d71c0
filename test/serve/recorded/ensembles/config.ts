// Ensembles as text: `config.pbtxt` of what they have as steps.
import { type Port, type RecordedModel } from '../repository.js'

/** `model` or `model/version`, then what goes in and what comes out: `INPUT0=IN`. */
export type Step = readonly [model: string, inputs: string, outputs: string]

export interface EnsembleParts {
  readonly batch?: number
  /** As `NAME TYPE dims`: `IN FP32 -1`. */
  readonly inputs?: readonly string[]
  readonly outputs?: readonly string[]
  /** Further fields. */
  readonly more?: string
  readonly versions?: readonly string[]
  readonly files?: Readonly<Record<string, string>>
  readonly loaded?: boolean
}

const tensorOf = (text: string): string => {
  const [, name = '', type = '', dims = '', more = ''] = /^(\S*) (\S+) (\S+)(.*)$/u.exec(text) ?? []
  return `{ name: "${name}" data_type: TYPE_${type} dims: [ ${dims.split(',').join(', ')} ]${more} }`
}

const mapOf = (field: string, pairs: string): string =>
  pairs
    .split(' ')
    .filter((pair) => pair !== '')
    .map((pair) => pair.split('='))
    .map(([key = '', value = '']) => ` ${field} { key: "${key}" value: "${value}" }`)
    .join('')

export function stepOf([model, inputs, outputs]: Step): string {
  const [name = '', version = '-1'] = model.split('/')
  return `{ model_name: "${name}" model_version: ${version}${mapOf('input_map', inputs)}${mapOf('output_map', outputs)} }`
}

export function ensemble(name: string, steps: readonly Step[], parts: EnsembleParts = {}): RecordedModel {
  const {
    batch = 0,
    inputs = ['IN FP32 -1'],
    outputs = ['OUT FP32 -1'],
    more = '',
    versions = ['1'],
    files = {},
    loaded = true,
  } = parts
  const text = [
    'platform: "ensemble"',
    `max_batch_size: ${String(batch)}`,
    ...(inputs.length > 0 ? [`input [ ${inputs.map(tensorOf).join(', ')} ]`] : []),
    ...(outputs.length > 0 ? [`output [ ${outputs.map(tensorOf).join(', ')} ]`] : []),
    `ensemble_scheduling { ${steps.length === 0 ? '' : `step [\n  ${steps.map(stepOf).join(',\n  ')}\n] `}}`,
    ...(more === '' ? [] : [more]),
    '',
  ]
  return { name, config: text.join('\n'), ports: [], maxBatchSize: batch, versions, files, loaded }
}

/** The same, of another text. */
export const changed = (model: RecordedModel, change: (config: string) => string): RecordedModel => ({
  ...model,
  config: change(model.config),
})

export const ports = (datatype: Port['datatype'], ...dims: readonly number[]): readonly Port[] => [{ datatype, dims }]
