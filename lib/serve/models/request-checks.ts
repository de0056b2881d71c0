// Whether a request suits a model: its names, data types, shapes, rows and bytes. The texts are Triton's, since people
// search for them.
import { invalid } from '../faults.js'
import { type Datatype, elementBytes, type WireTensor } from '../../kserve/tensor.js'
import type { ServableRequest } from './servable.js'

/** What is known of an input or output beside its name. */
export interface TensorRule {
  readonly name: string
  readonly datatype: Datatype
  /** As the config has them: without the rows of a batch. */
  readonly dims: readonly number[]
  /** What the model has in place of `dims`; variable sizes go from one to the other in their order. */
  readonly reshape: readonly number[] | undefined
  /** Its values decide shapes: it has no rows. */
  readonly isShapeTensor: boolean
}

export interface RequestRules {
  readonly model: string
  /** 0: the model has no batches. */
  readonly maxBatch: number
  /** In the config's order. */
  readonly inputs: ReadonlyMap<string, TensorRule>
  readonly outputs: ReadonlyMap<string, TensorRule>
}

/** What is looked at of an input, wherever its bytes are. */
export type Checkable = Omit<WireTensor, 'bytes'> & { readonly bytes: { readonly length: number } }

export type Checked<T extends Checkable> = Pick<ServableRequest, 'id' | 'outputs'> & { readonly inputs: readonly T[] }

export interface CheckedRequest<T extends Checkable = WireTensor> {
  /** Rows of the batch; 1 for a model without batches. */
  readonly rows: number
  /** In the config's order. */
  readonly inputs: readonly { readonly rule: TensorRule; readonly tensor: T }[]
}

/** @throws Fault INVALID_ARG */
export function checkRequest<T extends Checkable>(rules: RequestRules, request: Checked<T>): CheckedRequest<T> {
  const who = requestText(request.id)
  const { model, maxBatch } = rules
  const { outputs = [] } = request
  checkOutputNames(model, rules.outputs, outputs)
  checkTwice('output', outputs, who)
  const given = new Map(request.inputs.map((tensor) => [tensor.name, tensor]))
  const names = request.inputs.map(({ name }) => name)
  checkTwice('input', names, who)
  checkInputNames(model, rules.inputs, names, who)
  const inputs = [...rules.inputs.values()].map((rule) => ({ rule, tensor: given.get(rule.name) as T }))
  const batched = inputs.filter(({ rule }) => !rule.isShapeTensor).map(({ tensor }) => tensor)
  const rows = maxBatch === 0 ? 1 : (commonRows(model, maxBatch, batched, who) ?? 1) // 1 of shape tensors alone
  if (rows < 1) throw invalid(`${who}inference request batch-size must be >= 1 for '${model}'`)
  for (const { rule, tensor } of inputs) checkInput(rules, rule, tensor, who)
  return { rows, inputs }
}

/** What Triton's texts begin with. */
export function requestText(id: string | undefined): string {
  return `[request id: ${id || '<id_unknown>'}] `
}

/** Nothing is named twice. */
export function checkTwice(what: 'input' | 'output', names: readonly string[], who: string): void {
  const seen = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) throw invalid(`${who}${what} '${name}' already exists in request`)
    seen.add(name)
  }
}

export function checkOutputNames(model: string, known: ReadonlyMap<string, unknown>, names: readonly string[]): void {
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) throw invalid(`unexpected inference output '${unknown}' for model '${model}'`)
}

/** All inputs of the model, and no others. */
export function checkInputNames(
  model: string,
  known: ReadonlyMap<string, unknown>,
  names: readonly string[],
  who: string,
): void {
  if (names.length !== known.size) throw invalid(who + otherInputs(model, known, names))
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) throw invalid(`unexpected inference input '${unknown}' for model '${model}'`)
}

/** Of inputs that are not as many as the model has. */
function otherInputs(model: string, known: ReadonlyMap<string, unknown>, given: readonly string[]): string {
  const list = (names: readonly string[]): string => `[${names.map((name) => `'${name}'`).join(',')}]`
  const missing = [...known.keys()].filter((name) => !given.includes(name))
  return (
    `expected ${known.size} inputs but got ${given.length} inputs for model '${model}'. Got input(s) ${list(given)}, ` +
    `but missing required input(s) ${list(missing)}. Please provide all required input(s).`
  )
}

/** Rows that all have, where there are any. */
export function commonRows(
  model: string,
  most: number,
  tensors: readonly Pick<WireTensor, 'name' | 'shape'>[],
  who: string,
): number | undefined {
  let rows: number | undefined
  for (const { name, shape } of tensors) {
    const [first] = shape
    if (first === undefined)
      throw invalid(`${who}input '${name}' has no shape but model requires batch dimension for '${model}'`)
    rows ??= first
    if (first !== rows) throw invalid(`${who}input '${name}' batch size does not match other inputs for '${model}'`)
  }
  if ((rows ?? 0) > most) throw invalid(`${who}inference request batch-size must be <= ${most} for '${model}'`)
  return rows
}

function checkInput(rules: RequestRules, rule: TensorRule, tensor: Checkable, who: string): void {
  const { name, datatype, shape } = tensor
  if (datatype !== rule.datatype) {
    throw invalid(
      `${who}inference input '${name}' data-type is '${datatype}', but model '${rules.model}' expects '${rule.datatype}'`,
    )
  }
  const own = hasRows(rules, rule) ? shape.slice(1) : shape
  if (!fits(own, rule.dims)) {
    const hasBatches = rules.maxBatch > 0
    throw invalid(who + unexpectedShape(rules.model, tensor, hasBatches ? [-1, ...rule.dims] : rule.dims, hasBatches))
  }
  const bytes = byteLength(datatype, shape)
  if (bytes !== undefined && bytes !== tensor.bytes.length)
    throw invalid(
      `${who}input byte size mismatch for input '${name}' for model '${rules.model}'. Expected ${bytes}, got ${tensor.bytes.length}`,
    )
}

export function hasRows({ maxBatch }: RequestRules, { isShapeTensor }: TensorRule): boolean {
  return maxBatch > 0 && !isShapeTensor
}

export function fits(shape: readonly number[], dims: readonly number[]): boolean {
  return shape.length === dims.length && dims.every((dim, i) => (shape[i] ?? -1) >= 0 && (dim < 0 || dim === shape[i]))
}

const batchNote =
  'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. ' +
  'If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. ' +
  'See the model configuration docs for more info on max_batch_size.'

/** @param expected with -1 for sizes that requests decide, and for the rows of a batch */
export function unexpectedShape(
  model: string,
  { name, shape }: Pick<WireTensor, 'name' | 'shape'>,
  expected: readonly number[],
  hasBatches: boolean,
): string {
  const note = hasBatches ? batchNote : ''
  return `unexpected shape for input '${name}' for model '${model}'. Expected [${expected.join(',')}], got [${shape.join(',')}]. ${note}`
}

/** Nothing for texts, whose elements have lengths of their own. */
function byteLength(datatype: Datatype, shape: readonly number[]): number | undefined {
  return datatype === 'BYTES' ? undefined : shape.reduce((count, size) => count * size, elementBytes[datatype])
}

// Shapes between clients and a model: rows of a batch, and `reshape` of the config.

/** The shape that the model takes for the shape of a request, which was checked. */
export function modelShape(rules: RequestRules, rule: TensorRule, shape: readonly number[]): readonly number[] {
  return rule.reshape === undefined ? shape : replaced(rules, rule, shape, rule.dims, rule.reshape)
}

/** The shape that a client sees for that of a result. */
export function clientShape(rules: RequestRules, rule: TensorRule, shape: readonly number[]): readonly number[] {
  return rule.reshape === undefined ? shape : replaced(rules, rule, shape, rule.reshape, rule.dims)
}

/** Each variable size of `to` is the one of `from` in the same place among the variable ones; rows stay as they are. */
function replaced(
  rules: RequestRules,
  rule: TensorRule,
  shape: readonly number[],
  from: readonly number[],
  to: readonly number[],
): readonly number[] {
  const first = hasRows(rules, rule) ? 1 : 0
  const variable = shape.slice(first).filter((_, i) => (from[i] ?? 0) < 0)
  let next = 0
  return [...shape.slice(0, first), ...to.map((dim) => (dim < 0 ? (variable[next++] ?? 1) : dim))]
}
