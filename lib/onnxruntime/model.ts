/** A model as a session's options want it: with weights that were given apart. */
import { freeDimensionsOf } from '../onnx/free-dimensions.js'
import { readModel, writeModel } from '../onnx/model.js'
import { embedExternalData, folderOf } from './external-data.js'
import { warnOnce } from './lines.js'
import type { SessionSettings } from './options.js'

/** The model that the engine opens: what was given, where the options change nothing in it. */
export async function modelFor(
  given: string | Uint8Array,
  { externalData }: Pick<SessionSettings, 'externalData'>,
): Promise<string | Uint8Array> {
  if (externalData.length === 0) return given
  const model = await readModel(given)
  await embedExternalData(model, externalData, folderOf(given))
  return writeModel(model)
}

/** The sizes that mean something to the model; onnxruntime passes over the others, and here a warning names them. */
export async function knownDimensions(
  model: string | Uint8Array,
  { freeDimensions }: Pick<SessionSettings, 'freeDimensions'>,
): Promise<SessionSettings['freeDimensions']> {
  const sizes = Object.entries(freeDimensions)
  if (sizes.length === 0) return freeDimensions
  const known = await freeDimensionsOf(model)
  for (const [name] of sizes)
    if (!known.has(name))
      warnOnce(`the session option 'freeDimensionOverrides': no input has a dimension ${JSON.stringify(name)}`)
  return Object.fromEntries(sizes.filter(([name]) => known.has(name)))
}
