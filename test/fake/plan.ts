// Plans for the fake TensorRT: what they hold is described in nvinfer/program.h.

export type FakeType =
  'float32' | 'float16' | 'bfloat16' | 'int8' | 'int32' | 'int64' | 'uint8' | 'bool' | 'float8e4m3' | 'int4'

export interface FakePort {
  name: string
  dtype?: FakeType
  shape: readonly number[]
  /** A shape tensor, read on the host. */
  host?: boolean
  /** A number of TensorFormat; 0 is linear. */
  format?: number
  vectorDim?: number
  components?: number
}

export interface FakeRange {
  min: readonly number[]
  opt: readonly number[]
  max: readonly number[]
}

export interface FakeProfile {
  dims?: Record<string, FakeRange>
  values?: Record<string, FakeRange>
}

export interface FakeOp {
  /**
   * identity add sub mul div max min relu neg abs sqrt exp sigmoid tanh scale cast sum mean reducemax argmax softmax
   * concat matmul nonzero reshape shape transpose
   */
  type: string
  inputs: readonly string[]
  output: string
  /**
   * scale, offset, axis, keep, to, perm, shape: as the operation needs. `ms`: what a profiler is told, for each
   * execution in turn; `reported`: under which name.
   */
  attributes?: Record<string, string | number | readonly number[]>
}

export interface FakePlan {
  /** [10, 15, 1] by default; [11, 4, 0] for the other family, [1, 7, 1] for TensorRT-RTX. */
  version?: readonly number[]
  name?: string
  inputs: readonly FakePort[]
  outputs: readonly FakePort[]
  ops: readonly FakeOp[]
  /** Without data: a weight that was stripped. */
  constants?: Record<string, { dtype: FakeType; shape: readonly number[]; data?: Uint8Array }>
  /**
   * Whether constants of a floating type are weights that can be replaced: all, as kREFIT alone has it, or those of
   * kSTRIP_PLAN or kREFIT_IDENTICAL.
   */
  refit?: boolean | 'stripped' | 'identical'
  /** A plugin without which it is not deserialized; that of test/fake/plugin.cc is 'NodeTensorRTNone'. */
  plugin?: string
  /** It has code for the host inside, as with a lean runtime. */
  hostCode?: boolean
  /** Device memory that each enqueue takes for itself, in bytes; captured ones do not. */
  temporary?: number
  /** Outputs that are written in the memory of an input. */
  aliases?: Readonly<Record<string, string>>
  profiles?: readonly FakeProfile[]
  aux?: number
  /** Device memory of a context, in bytes, or for each profile in turn; and of the engine. */
  memory?: number | readonly number[]
  weights?: number
  /** Milliseconds of one execution; else what the driver is told with computeMs. */
  computeMs?: number
  /** What an inspector may tell; 'layer_names_only' unless given, as in TensorRT. */
  verbosity?: 'layer_names_only' | 'none' | 'detailed'
}

const encoder = new TextEncoder()
const encode = (name: string) =>
  Array.from(encoder.encode(name), (byte) => {
    const char = String.fromCharCode(byte)
    return byte <= 32 || byte > 126 || '%,='.includes(char) ? `%${byte.toString(16).padStart(2, '0')}` : char
  }).join('') || '%'
const list = (values: readonly (number | string)[]) => values.join(',') || '.'

const refitModes: readonly FakePlan['refit'][] = [false, true, 'stripped', 'identical']

function portLine(kind: 'input' | 'output', port: FakePort): string {
  const place = port.host ? 'host' : 'device'
  const format = `${port.format ?? 0} ${port.vectorDim ?? -1} ${port.components ?? 1}`
  return `${kind} ${encode(port.name)} ${port.dtype ?? 'float32'} ${list(port.shape)} ${place} ${format}`
}

export function fakePlan(spec: FakePlan): Uint8Array {
  const lines = [
    `name ${encode(spec.name ?? 'fake')}`,
    `aux ${spec.aux ?? 0}`,
    `memory ${list([spec.memory ?? 4096].flat())}`,
  ]
  lines.push(`verbosity ${['layer_names_only', 'none', 'detailed'].indexOf(spec.verbosity ?? 'layer_names_only')}`)
  lines.push(
    `weights ${spec.weights ?? 1024}`,
    `compute ${spec.computeMs ?? -1}`,
    `refit ${refitModes.indexOf(spec.refit ?? false)}`,
  )
  if (spec.plugin !== undefined) lines.push(`plugin ${encode(spec.plugin)}`)
  if (spec.hostCode) lines.push('hostcode 1')
  if (spec.temporary !== undefined) lines.push(`temporary ${spec.temporary}`)
  for (const [output, input] of Object.entries(spec.aliases ?? {}))
    lines.push(`alias ${encode(output)} ${encode(input)}`)
  for (const port of spec.inputs) lines.push(portLine('input', port))
  for (const port of spec.outputs) lines.push(portLine('output', port))
  for (const [index, profile] of (spec.profiles ?? []).entries()) {
    for (const key of ['dims', 'values'] as const) {
      for (const [name, { min, opt, max }] of Object.entries(profile[key] ?? {})) {
        lines.push(`${key} ${index} ${encode(name)} ${list(min)} ${list(opt)} ${list(max)}`)
      }
    }
  }
  for (const [name, { dtype, shape, data }] of Object.entries(spec.constants ?? {})) {
    const bytes = data === undefined ? '-' : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex')
    lines.push(`const ${encode(name)} ${dtype} ${list(shape)} ${bytes}`)
  }
  for (const op of spec.ops) {
    const attributes = Object.entries(op.attributes ?? {}).map(
      ([key, value]) => ` ${key}=${Array.isArray(value) ? list(value) : String(value)}`,
    )
    lines.push(`op ${op.type} ${encode(op.output)} ${list(op.inputs.map(encode))}${attributes.join('')}`)
  }
  const body = encoder.encode(lines.join('\n') + '\n')
  let hash = 14695981039346656037n
  for (const byte of body) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 1099511628211n)
  const plan = new Uint8Array(32 + body.length)
  const view = new DataView(plan.buffer)
  const version = spec.version ?? [10, 15, 1]
  plan.set(encoder.encode(version[0] === 1 ? 'vtrt' : 'ftrt')) // 1: TensorRT-RTX
  view.setUint32(4, 0, true) // the only layout of a header that trtexec reads too
  view.setBigUint64(8, hash, true)
  view.setBigUint64(16, BigInt(plan.length), true)
  plan.set(version.slice(0, 4), 24)
  plan.set(body, 32)
  return plan
}

/** One input x and one output y of the same shape, y = x. */
export const identityPlan = (
  shape: readonly number[],
  spec: Partial<FakePlan> & { dtype?: FakeType } = {},
): Uint8Array => {
  const dtype = spec.dtype ?? 'float32'
  return fakePlan({
    inputs: [{ name: 'x', shape, dtype }],
    outputs: [{ name: 'y', shape, dtype }],
    ops: [{ type: 'identity', inputs: ['x'], output: 'y' }],
    ...spec,
  })
}
