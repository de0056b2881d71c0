/** A model as a session's options want it: with weights that were given apart, and with sizes for free dimensions. */
import { readModel, writeModel } from '../onnx/model.js'
import type { ModelProto, TensorShapeProto_Dimension, ValueInfoProto } from '../onnx/onnx_pb.js'
import { embedExternalData, folderOf } from './external-data.js'
import type { SessionSettings } from './options.js'

/** The model that the engine opens: what was given, where the options change nothing in it. */
export async function modelFor(
  given: string | Uint8Array,
  { freeDimensions, externalData }: Pick<SessionSettings, 'freeDimensions' | 'externalData'>,
): Promise<string | Uint8Array> {
  const sizes = new Map(Object.entries(freeDimensions))
  if (sizes.size === 0 && externalData.length === 0) return given
  const model = await readModel(given)
  overrideDimensions(model, sizes)
  await embedExternalData(model, externalData, folderOf(given))
  return writeModel(model)
}

/**
 * Gives dimensions of inputs a size, by their name or by their denotation, as onnxruntime does; and every other one of
 * the same name.
 */
function overrideDimensions({ graph }: ModelProto, sizes: ReadonlyMap<string, number>): void {
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
