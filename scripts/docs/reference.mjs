// @ts-check
// What typedoc cannot know of lib/: names in comments that their file does not import, what the protobuf compiler
// wrote.
import { Comment, ReflectionKind } from 'typedoc'

/**
 * Types behind the public ones that a reader needs no page of, and the fields of ONNX that are made by the protobuf
 * compiler.
 */
export const machinery = [
  ...['Declared', 'OnlyName', 'UndeclaredOptions', 'Float16ArrayIfAny', 'Of', 'As', 'Method', 'AnswerOf', 'Painted'],
  ...['classifyPresets', 'detectPresets', 'segmentPresets'],
  ...[
    'TensorAnnotation',
    'DeviceConfigurationProto',
    'NodeDeviceConfigurationProto',
    'TrainingInfoProto',
    'TensorProto_Segment',
  ],
  ...['TensorShapeProto_Dimension', 'TypeProto_Tensor', 'TypeProto_Sequence', 'TypeProto_Map', 'TypeProto_Optional'],
  ...['TypeProto_SparseTensor', 'TypeProto_Opaque'],
]

/**
 * A name in a comment whose file does not import it: {@link Engine.infer} in lib/vision. Names that several entry
 * points have are not guessed.
 *
 * @param {import('typedoc').ProjectReflection} project
 * @param {import('typedoc').DeclarationReference['symbolReference']} reference
 * @returns {import('typedoc').ExternalResolveResult | undefined}
 */
export function named(project, reference) {
  const names = reference?.path?.map(({ path }) => path) ?? []
  const found = (project.children ?? []).flatMap((module) => module.getChildByName(names) ?? [])
  const real = new Set(found.map((each) => (each.isReference() ? each.getTargetReflectionDeep() : each)))
  const [only] = real
  return real.size === 1 && only !== undefined ? /** @type {{ target: any }} */ ({ target: only }) : undefined
}

const format = 'https://github.com/onnx/onnx/blob/main/onnx/onnx.proto'

/**
 * What the protobuf compiler wrote of ONNX's messages: each field has its declaration where the format says no more of
 * it.
 */
export function describeOnnx(/** @type {import('typedoc').ProjectReflection} */ project) {
  for (const reflection of project.getReflectionsByKind(ReflectionKind.All)) {
    const { comment } = reflection
    const isOnnx = project.getSymbolIdFromReflection(reflection)?.fileName?.endsWith('/onnx_pb.ts')
    if (!isOnnx) continue
    const generated = comment?.getTag('@generated')
    const text = generated === undefined ? '' : Comment.combineDisplayParts(generated.content).replace(/^from /, '')
    comment?.removeTags('@generated')
    const isMessage = text.startsWith('message ')
    const summary = isMessage
      ? `The ${text.replace(/(onnx\S+)/, '`$1`')} of the [ONNX format](${format}).`
      : `ONNX: \`${text}\``
    if (comment === undefined && reflection.kindOf(ReflectionKind.Property))
      reflection.comment = new Comment([{ kind: 'text', text: 'The field that is set, or its value.' }])
    else if (comment?.summary.length === 0) comment.summary = [{ kind: 'text', text: summary }]
  }
}
