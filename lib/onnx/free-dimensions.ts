/** Sizes for dimensions that a model leaves open, by the names or the denotations that it gives them. */
import { dirname } from 'node:path'
import { nearName } from '../base/options.js'
import { TensorRTError } from '../errors.js'
import { declaredValues } from './declared-inputs.js'
import { loadExternalData } from './external.js'
import { readModel, writeModel } from './model.js'
import type { ModelProto, TensorShapeProto_Dimension, ValueInfoProto } from './onnx_pb.js'
import { tensorsOf } from './walk.js'

/** A size for each name or denotation. */
export type FreeDimensions = Readonly<Record<string, number>>

/** The names and denotations of the open dimensions of a model's inputs, of which no weight is read. */
export async function freeDimensionsOf(model: string | Uint8Array): Promise<ReadonlySet<string>> {
  const inputs = (await declaredValues(model)).filter(({ use }) => use === 'input')
  const open = inputs.flatMap(({ value }) => dimensionsOf(value)).filter(({ value }) => value.case !== 'dimValue')
  const names = open.flatMap(({ value, denotation }) => [value.case === 'dimParam' ? value.value : '', denotation])
  return new Set(names.filter((name) => name !== ''))
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a name that the model does not have */
export async function refuseUnknownDimensions(model: string | Uint8Array, sizes: FreeDimensions): Promise<void> {
  const known = [...(await freeDimensionsOf(model))]
  const name = Object.keys(sizes).find((each) => !known.includes(each))
  if (name === undefined) return
  const near = nearName(name, known)
  const list = known.map((each) => JSON.stringify(each)).join(', ')
  const has = known.length === 0 ? 'no dimension of its inputs has a name' : `it has ${list}`
  throw new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `The model has no free dimension ${JSON.stringify(name)} for freeDimensions: ` +
      (near === undefined ? has : `did you mean ${JSON.stringify(near)}? ${has[0]?.toUpperCase()}${has.slice(1)}`),
    { details: { name, known } },
  )
}

/** Protobuf's limit for one message. */
const mostBytes = 2 ** 31 - 1

/**
 * A model with these sizes, and all its weights in it. @throws TensorRTError ERR_TRT_FILE, ERR_TRT_ONNX_PARSE;
 * ERR_TRT_UNSUPPORTED where it has too many bytes for one piece
 */
export async function withFreeDimensions(
  source: string | Uint8Array,
  sizes: FreeDimensions,
): Promise<Uint8Array<ArrayBuffer>> {
  const model = await readModel(source)
  setFreeDimensions(model, sizes)
  if (typeof source === 'string') await loadExternalData(model, dirname(source))
  let bytes = 0
  for (const { rawData } of tensorsOf(model)) bytes += rawData.length
  if (bytes <= mostBytes) return writeModel(model)
  throw new TensorRTError(
    'ERR_TRT_UNSUPPORTED',
    `The option freeDimensions takes models below 2 GiB here, and this one has ${bytes} bytes of weights: export it with these sizes, or give the option shapes. On the CPU with the addon there is no such limit`,
    { details: { bytes } },
  )
}

/**
 * Gives dimensions of inputs a size, by their name or by their denotation, as onnxruntime does; and every other one of
 * the same name.
 */
export function setFreeDimensions({ graph }: ModelProto, given: FreeDimensions): void {
  const sizes = new Map(Object.entries(given))
  if (graph === undefined || sizes.size === 0) return
  const named = new Map(sizes)
  for (const { value, denotation } of graph.input.flatMap(dimensionsOf)) {
    const size = sizes.get(denotation)
    if (size !== undefined && value.case === 'dimParam') named.set(value.value, size)
  }
  for (const dimension of graph.input.flatMap(dimensionsOf)) {
    const size = sizes.get(dimension.denotation)
    if (size !== undefined && dimension.value.case !== 'dimValue') setSize(dimension, size)
  }
  for (const dimension of [...graph.input, ...graph.output, ...graph.valueInfo].flatMap(dimensionsOf)) {
    const size = dimension.value.case === 'dimParam' ? named.get(dimension.value.value) : undefined
    if (size !== undefined) setSize(dimension, size)
  }
}

function setSize(dimension: TensorShapeProto_Dimension, size: number): void {
  dimension.value = { case: 'dimValue', value: BigInt(size) }
}

function dimensionsOf({ type }: ValueInfoProto): readonly TensorShapeProto_Dimension[] {
  return type?.value.case === 'tensorType' ? (type.value.value.shape?.dim ?? []) : []
}
