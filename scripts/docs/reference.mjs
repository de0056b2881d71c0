// @ts-check
// What typedoc cannot know of lib/: names in comments that their file does not import, what the protobuf compiler wrote, what codes of errors mean.
import { Comment, ReflectionKind } from 'typedoc'

/** Types behind the public ones that a reader needs no page of, and the fields of ONNX that are made by the protobuf compiler. */
export const machinery = [
  ...['Declared', 'OnlyName', 'UndeclaredOptions', 'Float16ArrayIfAny', 'Of', 'As'],
  ...['classifyPresets', 'detectPresets', 'segmentPresets'],
  ...['TensorAnnotation', 'DeviceConfigurationProto', 'NodeDeviceConfigurationProto', 'TrainingInfoProto', 'TensorProto_Segment'],
  ...['TensorShapeProto_Dimension', 'TypeProto_Tensor', 'TypeProto_Sequence', 'TypeProto_Map', 'TypeProto_Optional'],
  ...['TypeProto_SparseTensor', 'TypeProto_Opaque'],
]

/**
 * A name in a comment whose file does not import it: {@link Engine.infer} in lib/vision. Names that several entry points have are not guessed.
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

/** What lib/errors.ts says of its names in no docstring yet. @type {Readonly<Record<string, string>>} */
const ofErrors = {
  ErrorCode: 'The code of a `TensorRTError`: a key of `errorCodes`.',
  TensorRTErrorOptions: 'What the constructor of `TensorRTError` takes beside code and message.',
  'TensorRTError.code': 'What went wrong, for programs: a key of `errorCodes`.',
  'TensorRTError.log':
    'The last lines that TensorRT logged before the error, oldest first, each with its severity; without those that the message quotes.',
  'TensorRTError.details': 'Figures and names for programs; which they are depends on the code.',
}

/** A code without a docstring means what its value says. */
export function describeErrors(/** @type {import('typedoc').ProjectReflection} */ project) {
  for (const reflection of project.getReflectionsByKind(ReflectionKind.All)) {
    const { comment } = reflection
    if (comment !== undefined || !project.getSymbolIdFromReflection(reflection)?.fileName?.endsWith('/lib/errors.ts')) continue
    const text = ofErrors[reflection.getFullName().replace('node-tensorrt.', '')] ?? meaningOf(reflection)
    if (text !== undefined) reflection.comment = new Comment([{ kind: 'text', text }])
  }
}

function meaningOf(/** @type {import('typedoc').Reflection} */ reflection) {
  if (!reflection.name.startsWith('ERR_TRT_') || !reflection.isDeclaration() || reflection.type?.type !== 'literal') return undefined
  const meaning = String(reflection.type.value)
  return `${meaning[0]?.toUpperCase()}${meaning.slice(1)}.`
}

const format = 'https://github.com/onnx/onnx/blob/main/onnx/onnx.proto'

/** What the protobuf compiler wrote of ONNX's messages: each field has its declaration where the format says no more of it. */
export function describeOnnx(/** @type {import('typedoc').ProjectReflection} */ project) {
  for (const reflection of project.getReflectionsByKind(ReflectionKind.All)) {
    const { comment } = reflection
    const isOnnx = project.getSymbolIdFromReflection(reflection)?.fileName?.endsWith('/onnx_pb.ts')
    if (!isOnnx) continue
    const generated = comment?.getTag('@generated')
    const text = generated === undefined ? '' : Comment.combineDisplayParts(generated.content).replace(/^from /, '')
    comment?.removeTags('@generated')
    const isMessage = text.startsWith('message ')
    const summary = isMessage ? `The ${text.replace(/(onnx\S+)/, '`$1`')} of the [ONNX format](${format}).` : `ONNX: \`${text}\``
    if (comment === undefined && reflection.kindOf(ReflectionKind.Property))
      reflection.comment = new Comment([{ kind: 'text', text: 'The field that is set, or its value.' }])
    else if (comment?.summary.length === 0) comment.summary = [{ kind: 'text', text: summary }]
  }
}
