/** Checks a model for TensorRT, as far as that works without TensorRT and without a GPU. */
import type { ErrorCode } from '../errors.js'
import { externalDataErrors } from '../onnx/external.js'
import type { ModelInfo, ValueInfo } from '../onnx/info.js'
import type { ModelProto } from '../onnx/onnx_pb.js'
import { shapesLine } from './shapes.js'
import { tensorrtOpsets, unsupportedOperators } from './tensorrt-operators.js'

/** Something in a model that does not fit TensorRT. */
export interface DeploymentFinding {
  /** `error`: TensorRT does not build or run the model. `warning`: it may not, or computes with less precision. */
  readonly severity: 'error' | 'warning'
  /** The code of the error that a build would throw. */
  readonly code: ErrorCode
  /** The input, output, operator or file. */
  readonly name: string
  /** The problem, and how to fix it. */
  readonly message: string
}

/** Result of checking a model for TensorRT. */
export interface DeploymentCheck {
  /** `false` if there is an error among the findings. */
  readonly ready: boolean
  /**
   * How operators were checked: `parser`, by the TensorRT of this machine; `list`, by the operators that TensorRT 10.15
   * documents.
   */
  readonly operators: 'parser' | 'list'
  /** The findings; errors first. */
  readonly findings: readonly DeploymentFinding[]
}

/** Facts that the model itself does not have. */
export interface DeploymentContext {
  /** The inputs for which shapes will be given. */
  readonly shaped: ReadonlySet<string>
  /** The folder of the model's file; `undefined` for a model in memory. */
  readonly folder: string | undefined
  /** Error of the parser: `undefined` if it takes the model, `none` if there is no TensorRT. */
  readonly parser: Pick<DeploymentFinding, 'code' | 'message'> | undefined | 'none'
}

/** Returns what would fail on TensorRT. */
export async function checkDeployment(
  model: ModelProto,
  info: ModelInfo,
  { shaped, folder, parser }: DeploymentContext,
): Promise<DeploymentCheck> {
  const findings = [
    ...[...info.inputs, ...info.outputs].flatMap(wrongTypes),
    ...dynamicInputs(info, shaped),
    ...(await externalData(model, info, folder)),
    ...(parser === 'none' ? [...wrongOperators(model, info), ...wrongOpset(info)] : []),
  ]
  const isKnown = (code: ErrorCode): boolean => findings.some((finding) => finding.code === code)
  if (parser !== 'none' && parser !== undefined && !isKnown(parser.code))
    findings.push({ severity: 'error', name: info.name, ...parser })
  const isError = ({ severity }: DeploymentFinding): boolean => severity === 'error'
  return {
    ready: !findings.some(isError),
    operators: parser === 'none' ? 'list' : 'parser',
    findings: [...findings.filter(isError), ...findings.filter((finding) => !isError(finding))],
  }
}

/** Element types of inputs and outputs that TensorRT has. */
const tensorrtTypes: ReadonlySet<string> = new Set([
  'float32',
  'float16',
  'bfloat16',
  'float8e4m3',
  'float4e2m1',
  'int64',
  'int32',
  'int8',
  'uint8',
  'int4',
  'bool',
])

function wrongTypes({ name, kind, dtype }: ValueInfo): DeploymentFinding[] {
  const quoted = JSON.stringify(name)
  const fix = "To fix: run the model with { backend: 'cpu' }, or cut it with GraphEditor of node-tensorrt/onnx"
  const found = (message: string, severity: 'error' | 'warning' = 'error'): DeploymentFinding[] => [
    { severity, code: 'ERR_TRT_DTYPE', name, message },
  ]
  if (kind === 'unknown' || tensorrtTypes.has(dtype)) return []
  if (kind !== 'tensor')
    return found(`TensorRT supports only tensors, but ${quoted} is a value of the kind ${kind}. ${fix}`)
  if (dtype === 'undefined') return []
  if (dtype === 'float64')
    return found(
      `TensorRT computes float64 as float32, and ${quoted} is float64. To fix: export the model in float32`,
      'warning',
    )
  return found(`TensorRT does not support tensors of ${dtype}, but ${quoted} is one. ${fix}`)
}

function dynamicInputs({ inputs }: ModelInfo, shaped: ReadonlySet<string>): DeploymentFinding[] {
  const isDynamic = ({ kind, shape }: ValueInfo): boolean =>
    kind === 'tensor' && (shape === undefined || shape.some((dim) => typeof dim === 'string' || dim < 0))
  return inputs
    .filter((input) => isDynamic(input) && !shaped.has(input.name))
    .map(({ name, shape }) => {
      const quoted = JSON.stringify(name)
      const message =
        shape === undefined
          ? `TensorRT needs the number of dimensions of every input, and the model does not say that of ${quoted}. To fix: export the model with it`
          : `Input ${quoted} [${shape.map((dim) => (dim === -1 ? '?' : dim)).join(', ')}] is dynamic, and TensorRT builds for a range of shapes. To fix: add ${shapesLine([{ name, shape }])}`
      return { severity: 'error', code: 'ERR_TRT_SHAPES_REQUIRED', name, message }
    })
}

async function externalData(
  model: ModelProto,
  { externalFiles }: ModelInfo,
  folder: string | undefined,
): Promise<DeploymentFinding[]> {
  const finding = (code: ErrorCode, name: string, message: string): DeploymentFinding => {
    return { severity: 'error', code, name, message }
  }
  if (folder !== undefined)
    return (await externalDataErrors(model, folder)).map(([name, { code, message }]) => finding(code, name, message))
  const message = 'A model in memory has no folder to find it in. To fix: give the path of the model'
  return externalFiles.map((name) => finding('ERR_TRT_FILE', name, `The model needs the file ${name}. ${message}`))
}

function wrongOperators({ functions }: ModelProto, { operators }: ModelInfo): DeploymentFinding[] {
  const defined = new Set(functions.flatMap(({ domain, name }) => [name, `${domain}.${name}`]))
  return Object.entries(operators).flatMap(([name, count]): DeploymentFinding[] => {
    if (defined.has(name)) return []
    const nodes = `${count} ${count === 1 ? 'node' : 'nodes'}`
    const code = 'ERR_TRT_UNSUPPORTED_OPERATOR'
    if (name.includes('.') && !name.startsWith('ai.onnx.ml.')) {
      const message = `TensorRT runs the custom operator ${name} (${nodes}) only with a plugin. To fix: give its library as tensorrt: { builder: { plugins } }`
      return [{ severity: 'warning', code, name, message }]
    }
    const isKnown = !name.startsWith('ai.onnx.ml.') && !unsupportedOperators.has(name)
    if (isKnown) return []
    const message = `TensorRT has no operator ${name} (${nodes}). To fix: export the model without it, cut it with GraphEditor of node-tensorrt/onnx, or run it with { backend: 'cpu' }`
    return [{ severity: 'error', code, name, message }]
  })
}

function wrongOpset({ opset, domains }: ModelInfo): DeploymentFinding[] {
  const { least, most } = tensorrtOpsets
  if (domains['ai.onnx'] === undefined || (opset >= least && opset <= most)) return []
  const fix = opset < least ? 'withOpset of node-tensorrt/onnx raises it' : 'export the model with an older opset'
  const message = `TensorRT supports opsets ${least} to ${most}, and the model has opset ${opset}. To fix: ${fix}`
  return [{ severity: 'warning', code: 'ERR_TRT_ONNX_PARSE', name: `opset ${opset}`, message }]
}
