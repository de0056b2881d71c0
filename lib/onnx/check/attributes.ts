import { type AttributeKind as Kind, attributeTypes } from '../attributes.js'
import { isKnownOperator } from '../inference/rules.js'
import type { AttributeProto, NodeProto } from '../onnx_pb.js'
import { isOnnx, nodeText, shortened } from '../scope.js'
import { notAGraph } from '../structure.js'

/**
 * The kind of an attribute by its name: nearly all have one kind in all of ONNX's operators and their versions (from
 * onnx 1.23's schemas).
 */
const names: Readonly<Partial<Record<Kind, string>>> = {
  INT:
    'align_corners allowzero axis batch_axis batch_dims block_size blocksize broadcast ceil_mode center_point_box count_include_pad detect_negative detect_positive end ' +
    'exclude_outside exclusive fmod group hidden_size input_forget is_test k keepdims largest layout linear_before_reset noop_with_empty_axes num_groups num_outputs ' +
    'output_dtype output_height output_width p reverse sampling_ratio saturate select_last_index size sorted spatial start stash_type storage_order time_axis training_mode transA transB ' +
    'upper value_int',
  INTS: 'axes consumed_inputs dilations ends kernel_shape output_padding output_shape paddings pads perm repeats split starts strides value_ints',
  FLOAT:
    'alpha beta bias clip cubic_coeff_a epsilon extrapolation_value gamma height_scale lambd max min momentum ratio spatial_scale value_float width_scale',
  FLOATS: 'activation_alpha activation_beta scales value_floats',
  STRING:
    'approximate auto_pad coordinate_transformation_mode direction equation keep_aspect_ratio_policy nearest_mode padding_mode reduction value_string',
  STRINGS: 'activations value_strings',
  GRAPH: 'then_branch else_branch body',
}

const kinds: ReadonlyMap<string, Kind> = new Map(
  Object.entries(names).flatMap(([kind, list]) => list.split(' ').map((name) => [name, kind as Kind] as const)),
)

const withGraphs: ReadonlySet<string> = new Set(['If', 'Loop', 'Scan'])

/**
 * That no attribute is there twice, and that those of operators that are known have the kind that ONNX says. @throws
 * TensorRTError ERR_TRT_ONNX_PARSE
 */
export function checkAttributes(node: NodeProto): void {
  const isKnown = isOnnx(node) && (isKnownOperator(node.opType) || withGraphs.has(node.opType))
  const seen = new Set<string>()
  for (const attribute of node.attribute) {
    if (seen.has(attribute.name)) throw wrong(node, attribute, 'is there twice')
    seen.add(attribute.name)
    if (isKnown) checkKind(node, attribute)
  }
}

function checkKind(node: NodeProto, attribute: AttributeProto): void {
  const kind = kindOf(node.opType, attribute.name)
  // The first version of the format does not say the kind; a function's node may refer to the function's attribute.
  if (kind === undefined || attribute.type === 0 || attribute.refAttrName !== '') return
  if (attribute.type !== attributeTypes[kind])
    throw wrong(node, attribute, `is to be ${kind} and is ${kindText(attribute.type)}`)
  if ((kind === 'TENSOR' && attribute.t === undefined) || (kind === 'GRAPH' && attribute.g === undefined)) {
    throw wrong(node, attribute, `is to be ${kind} and has none`)
  }
}

function kindOf(operator: string, name: string): Kind | undefined {
  if (name === 'value') return operator === 'Constant' || operator === 'ConstantOfShape' ? 'TENSOR' : undefined
  return kinds.get(name)
}

function kindText(type: number): string {
  return Object.entries(attributeTypes).find(([, number]) => number === type)?.[0] ?? `of the unknown type ${type}`
}

function wrong(node: NodeProto, { name }: AttributeProto, what: string): Error {
  return notAGraph(`Attribute ${shortened(name)} of ${nodeText(node)} ${what}`, { node: node.name, attribute: name })
}
