// Models as their engines tell them, and texts of config.pbtxt.
import { completeConfig } from '../../../lib/serve/config/complete.js'
import type { ModelFacts, ModelTensorFacts } from '../../../lib/serve/config/model-facts.js'
import { configJson } from '../../../lib/serve/config/json.js'
import type { ModelConfig } from '../../../lib/kserve/messages/model_config_pb.js'
import { readConfigText } from '../../../lib/serve/config/read.js'
import type { Fault } from '../../../lib/serve/faults.js'
import type { DType } from '../../../lib/index.js'

export interface TensorOptions {
  readonly dtype?: DType
  /** Ranges of sizes, one for each profile: `[min, max]` of each dimension, or its only size. */
  readonly profiles?: readonly (readonly (number | readonly [number, number])[])[]
  readonly isShapeTensor?: boolean
}

export function tensor(name: string, shape: readonly number[], options: TensorOptions = {}): ModelTensorFacts {
  const { dtype = 'float32', profiles = [], isShapeTensor = false } = options
  const edge = (end: 0 | 1, sizes: readonly (number | readonly [number, number])[]): number[] =>
    sizes.map((size) => (typeof size === 'number' ? size : size[end]))
  return {
    name,
    dtype,
    shape,
    isShapeTensor,
    profiles: profiles.map((sizes) => ({ min: edge(0, sizes), opt: edge(1, sizes), max: edge(1, sizes) })),
  }
}

export function model(
  format: ModelFacts['format'],
  inputs: readonly ModelTensorFacts[],
  outputs: readonly ModelTensorFacts[],
  unsupported: ModelFacts['unsupported'] = [],
): ModelFacts {
  return { format, inputs, outputs, unsupported }
}

/** Two inputs and two outputs of 16 numbers, as most models of Triton's own tests. */
export function addSub(format: ModelFacts['format'], inner = 16, dtype: DType = 'float32'): ModelFacts {
  const sizes = inner === -1 ? ([4, 32] as const) : inner
  const profiles = format === 'plan' ? [[[1, 8] as const, sizes]] : []
  return model(
    format,
    ['INPUT0', 'INPUT1'].map((name) => tensor(name, [-1, inner], { dtype, profiles })),
    ['OUTPUT0', 'OUTPUT1'].map((name) => tensor(name, [-1, inner], { dtype })),
  )
}

/** What becomes of a config.pbtxt with a model. */
export function completed(text: string, facts: ModelFacts, autoComplete = true, name = 'm'): ModelConfig {
  return completeConfig(readConfigText(text, `${name}/config.pbtxt`), name, facts, autoComplete)
}

/** The same as `/config` has it, without the fields that are as they always are. */
export function shown(text: string, facts: ModelFacts, name = 'm'): { readonly [field: string]: unknown } {
  const json = configJson(completed(text, facts, true, name))
  return Object.fromEntries(Object.entries(json).filter(([, value]) => !isEmpty(value)))
}

function isEmpty(value: unknown): boolean {
  if (value === '' || value === 0 || value === false) return true
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** `input` and `output` of a config.pbtxt: `tensors('input', { INPUT0: 'data_type: TYPE_FP32 dims: [ 16 ]' })`. */
export function tensors(kind: 'input' | 'output', entries: Readonly<Record<string, string>>): string {
  const list = Object.entries(entries).map(([name, rest]) => `  { name: "${name}" ${rest} }`)
  return `${kind} [\n${list.join(',\n')}\n]\n`
}

export function faultOf(text: string, facts: ModelFacts, name: string, autoComplete = true): Fault {
  try {
    completed(text, facts, autoComplete, name)
  } catch (error) {
    return error as Fault
  }
  throw new Error('expected a Fault, but the configuration was taken')
}

/** `data_type` and `dims` of several tensors. */
export function declared(kind: 'input' | 'output', type: string, entries: Readonly<Record<string, string>>): string {
  return tensors(
    kind,
    Object.fromEntries(Object.entries(entries).map(([name, dims]) => [name, `data_type: ${type} dims: [ ${dims} ]`])),
  )
}

export const outputs = declared('output', 'TYPE_FP32', { OUTPUT0: '16', OUTPUT1: '16' })
export const inputs = declared('input', 'TYPE_FP32', { INPUT0: '16', INPUT1: '16' })
export const unbatched = model(
  'onnx',
  ['INPUT0', 'INPUT1'].map((name) => tensor(name, [16])),
  ['OUTPUT0', 'OUTPUT1'].map((name) => tensor(name, [16])),
)

export const reshaped = (dims: string, shape: string): string =>
  `data_type: TYPE_FP32 dims: [ ${dims} ] reshape { shape: [ ${shape} ] }`
export const groups = (...list: readonly string[]): string =>
  list.map((group) => `instance_group [ { ${group} } ]`).join(' ')

export const input = (name: string, dims: readonly number[], fields: object = {}): object => ({
  name,
  data_type: 'TYPE_FP32',
  format: 'FORMAT_NONE',
  dims,
  is_shape_tensor: false,
  allow_ragged_batch: false,
  optional: false,
  is_non_linear_format_io: false,
  ...fields,
})
export const output = (name: string, dims: readonly number[], fields: object = {}): object => ({
  name,
  data_type: 'TYPE_FP32',
  dims,
  label_filename: '',
  is_shape_tensor: false,
  is_non_linear_format_io: false,
  ...fields,
})
