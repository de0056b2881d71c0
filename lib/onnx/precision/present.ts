import { elementTypeNumber } from '../element-type.js'
import type { ModelProto } from '../onnx_pb.js'
import { nodesOf, tensorsOf } from '../walk.js'
import { intAttribute } from '../node-attributes.js'
import { type HalfPrecision, halfTypes } from './options.js'

/**
 * Whether a model has anything of a type: an input, an output, a stored tensor or a cast to it. Who made it has chosen
 * its types, then.
 */
export function hasPrecision(model: ModelProto, precision: HalfPrecision): boolean {
  const number = elementTypeNumber(halfTypes[precision])
  for (const { type } of [...(model.graph?.input ?? []), ...(model.graph?.output ?? [])])
    if (type?.value.case === 'tensorType' && type.value.value.elemType === number) return true
  for (const { dataType } of tensorsOf(model)) if (dataType === number) return true
  for (const node of nodesOf(model)) if (node.opType === 'Cast' && intAttribute(node, 'to') === number) return true
  return false
}
