// Runs of a model before it takes requests: its model_warmup, or else one of zeros.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dynamicBatchingOf } from '../config/batching.js'
import type {
  ModelConfig,
  ModelWarmup,
  ModelWarmup_Input as WarmupInput,
} from '../../kserve/messages/model_config_pb.js'
import { wireTypeOf } from '../config/types.js'
import { Fault, faultOf, invalid } from '../faults.js'
import { type Datatype, dtypeOf, elementBytes, type WireTensor } from '../../kserve/tensor.js'
import { hasRows, type RequestRules, type TensorRule } from './request-checks.js'
import { onFile } from '../../base/files.js'
import { randomTensor } from '../../benchmark/random.js'
import { bytesOfTensor } from '../../tensor.js'

export interface WarmupTarget {
  readonly config: ModelConfig
  /** The model's folder, which has `warmup/` for its files. */
  readonly folder: string
  readonly rules: RequestRules
  /** The shapes that an input is best at, with its rows, as the model has them. */
  bestShape(input: string): readonly number[] | undefined
  /** Of a shape tensor: the values that its first profile is best at. */
  readonly bestValues: (input: string) => readonly number[] | undefined
  /** Runs it on each engine, as often at once as that has lanes. */
  run(inputs: readonly WireTensor[]): Promise<void>
  onWarning(text: string): void
}

/** @throws Fault (as a rejection) where a sample cannot be made, or fails */
export async function warmUp(target: WarmupTarget): Promise<void> {
  const samples = target.config.modelWarmup.filter(({ batchSize }) => batchSize > 0)
  if (samples.length === 0) return runZeros(target)
  for (const sample of samples) {
    const inputs = await inputsOf(target, sample)
    for (let i = 0; i < Math.max(1, sample.count); i++) await runSample(target, sample.name, inputs)
  }
}

async function runSample(target: WarmupTarget, name: string, inputs: readonly WireTensor[]): Promise<void> {
  try {
    await target.run(inputs)
  } catch (error) {
    const { kind, message } = faultOf(error)
    throw new Fault(kind, `failed to run warmup sample '${name}': ${message}`, error)
  }
}

/**
 * Sizes that nobody knows, and whole numbers, which may be places in a table, are guesses: what fails then is no fault
 * of the model.
 */
async function runZeros(target: WarmupTarget): Promise<void> {
  const rules = [...target.rules.inputs.values()]
  const shapes = rules.map((rule) => zeroShape(target, rule))
  const isGuess =
    shapes.some(({ known }) => !known) || rules.some((rule) => !isFloat(rule.datatype) && !hasBestValues(target, rule))
  const inputs = rules.map((rule, i) =>
    tensorOf(rule.name, rule.datatype, shapes[i]?.shape ?? [], (bytes) => zerosOrBest(target, rule, bytes)),
  )
  try {
    await target.run(inputs)
  } catch (error) {
    const { kind, message } = faultOf(error)
    const text = `failed to run on zeros: ${message}`
    if (!isGuess || kind === 'UNAVAILABLE') throw new Fault(kind, text, error)
    target.onWarning(`${text}; it is loaded all the same, since it may want other inputs: give model_warmup`)
  }
}

function hasBestValues({ bestValues }: WarmupTarget, { name, isShapeTensor }: TensorRule): boolean {
  return isShapeTensor && bestValues(name) !== undefined
}

/**
 * Those of the values of a shape tensor that a client gives: the last ones, where the rows of a batch are before them.
 */
function zerosOrBest(
  { bestValues }: WarmupTarget,
  { name, isShapeTensor, datatype }: TensorRule,
  bytes: number,
): Uint8Array {
  const best = isShapeTensor ? bestValues(name) : undefined
  if (best === undefined) return new Uint8Array(bytes)
  const all =
    datatype === 'INT64'
      ? new Uint8Array(BigInt64Array.from(best, BigInt).buffer)
      : new Uint8Array(Int32Array.from(best).buffer)
  return all.subarray(all.length - bytes)
}

function isFloat(datatype: Datatype): boolean {
  return datatype === 'FP16' || datatype === 'BF16' || datatype === 'FP32' || datatype === 'FP64'
}

function zeroShape(
  target: WarmupTarget,
  rule: TensorRule,
): { readonly shape: readonly number[]; readonly known: boolean } {
  const best = target.bestShape(rule.name)
  const first = hasRows(target.rules, rule) ? [rowsOf(target.config)] : []
  if (best !== undefined && rule.reshape === undefined)
    return { shape: [...first, ...best.slice(first.length)], known: true }
  return {
    shape: [...first, ...rule.dims.map((size) => (size < 0 ? 1 : size))],
    known: rule.dims.every((size) => size >= 0),
  }
}

/** A full batch where requests merge: it merges with none, so that each lane gets one. Else one row. */
function rowsOf(config: ModelConfig): number {
  return dynamicBatchingOf(config) === undefined ? 1 : config.maxBatchSize
}

async function inputsOf(target: WarmupTarget, sample: ModelWarmup): Promise<readonly WireTensor[]> {
  return Promise.all(Object.entries(sample.inputs).map(([name, input], i) => inputOf(target, sample, name, input, i)))
}

/** Each row of the batch has the same values. */
async function inputOf(
  target: WarmupTarget,
  sample: ModelWarmup,
  name: string,
  input: WarmupInput,
  seed: number,
): Promise<WireTensor> {
  const dims = input.dims.map(Number)
  if (dims.some((size) => size < 0))
    throw invalid(`warmup setting expects all variable-size dimensions are specified for input '${name}'`)
  const datatype = wireTypeOf(input.dataType)
  if (datatype === undefined) throw invalid(`warmup setting expects a data_type for input '${name}'`)
  const rule = target.rules.inputs.get(name)
  const rows = rule !== undefined && hasRows(target.rules, rule) ? sample.batchSize : 1
  const values = await valuesOf(target, name, input, datatype, seed)
  const row = (bytes: number): Uint8Array => repeated(values(bytes / rows), rows)
  return tensorOf(name, datatype, rule !== undefined && !hasRows(target.rules, rule) ? dims : [rows, ...dims], row)
}

type Values = (bytes: number) => Uint8Array

async function valuesOf(
  target: WarmupTarget,
  name: string,
  input: WarmupInput,
  datatype: Datatype,
  seed: number,
): Promise<Values> {
  switch (input.inputDataType.case) {
    case 'zeroData':
      return (bytes) => new Uint8Array(bytes)
    case 'randomData':
      return (bytes) => randomBytes(bytes, datatype, seed)
    case 'inputDataFile':
      return fileValues(target.folder, input.inputDataType.value, datatype)
    default:
      throw invalid(`warmup setting expects input '${name}' to have input_data_type set`)
  }
}

/** Of texts all that is in it: each has its length before it. */
async function fileValues(folder: string, file: string, datatype: Datatype): Promise<Values> {
  if (file.startsWith('/') || file.split('/').includes('..'))
    throw invalid(`Expected an input_data_file within the folder warmup but received '${file}'`)
  const path = join(folder, 'warmup', file)
  const found = await onFile('read', path, () => readFile(path))
  return (bytes) => {
    if (datatype === 'BYTES') return found
    if (found.length >= bytes) return found.subarray(0, bytes)
    throw invalid(
      `warmup setting expects ${bytes} bytes, but the data provided from ${file} only has ${found.length} bytes`,
    )
  }
}

/** Its length, which is zero. */
const bytesOfEmptyText = 4

function tensorOf(name: string, datatype: Datatype, shape: readonly number[], values: Values): WireTensor {
  const bytes = shape.reduce(
    (count, size) => count * size,
    datatype === 'BYTES' ? bytesOfEmptyText : elementBytes[datatype],
  )
  return { name, datatype, shape, bytes: values(bytes) }
}

function repeated(row: Uint8Array, rows: number): Uint8Array {
  const all = new Uint8Array(row.length * rows)
  for (let i = 0; i < rows; i++) all.set(row, i * row.length)
  return all
}

/** The same each time. */
function randomBytes(bytes: number, datatype: Datatype, seed: number): Uint8Array {
  if (datatype === 'BYTES') return new Uint8Array(bytes)
  return bytesOfTensor(randomTensor({ dtype: dtypeOf[datatype] }, [bytes / elementBytes[datatype]], seed))
}
