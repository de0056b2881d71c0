// ONNX's own backend tests, one model for each way of using an operator: what onnxruntime-node makes of them, what a
// session of node-tensorrt/onnxruntime does, and what an Engine does.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fromBinary } from '@bufbuild/protobuf'
import * as theirs from 'onnxruntime-node'
import type { Test } from 'tap'
import { dtypes, Engine, Tensor, TensorRTError } from '../../lib/index.js'
import { type ElementType, elementTypeName } from '../../lib/onnx/element-type.js'
import { inspectModel, readModel, tensorFromProto, type ValueInfo } from '../../lib/onnx/index.js'
import { type TensorProto, TensorProtoSchema } from '../../lib/onnx/onnx_pb.js'
import * as ours from '../../lib/onnxruntime/entry.js'

/** The folder of ONNX's tests of nodes as scripts/onnxruntime.mjs provides it, or the reason why they are skipped. */
const folder = process.env['TRT_TEST_ONNX_NODES'] ?? ''
export const skipWithoutNodes =
  folder === '' ? "TRT_TEST_ONNX_NODES is not set: ONNX's tests of nodes could not be fetched" : false

/** The names of all tests. */
export const nodeTests = (): readonly string[] =>
  readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, 'model.onnx')))
    .sort()

/** What came of one model with one set of inputs. */
type Outcome =
  | { readonly refused: unknown; readonly at: 'load' | 'run' }
  | { readonly values: Readonly<Record<string, Value>>; readonly types: readonly unknown[] }

interface Value {
  readonly type: string
  readonly dims: readonly number[]
  readonly data: ArrayLike<unknown>
}

/**
 * What the three made of a test: `same`; `refused` by all; `more`: only ours run it, and give what ONNX's file says;
 * `differs`.
 */
export interface Verdict {
  readonly name: string
  readonly kind: 'same' | 'refused' | 'more' | 'differs'
  /** Why it was refused, by onnxruntime-node; how it differs. */
  readonly text: string
}

/** onnxruntime-node gives sizes in bytes for these as if each element had 32 bits of its own, and ends the process. */
const deadly: readonly ElementType[] = ['int4', 'uint4']

/** Why onnxruntime-node refuses tests, by what it says; node-tensorrt refuses them for the same reason. */
const refusals: readonly (readonly [reason: string, words: RegExp])[] = [
  ['sequences and optional values, which onnxruntime-common has no value for', /missing in 'feeds'|Non tensor type/],
  ['data types that onnxruntime-common has not, or that end the process', /Unsupported data type|ends the process/],
  [
    'operators, or data types of them, that onnxruntime has no kernel for',
    /Could not find an impl|Failed to find kernel/,
  ],
  ["ONNX's operators for training", /is not a registered function/],
  ['models that onnxruntime finds wrong: Range of what is no scalar', /ShapeInferenceError/],
  ['what its kernels do not do: recurrent layers batch-wise, locales that are not installed', /during initialization/],
  ['what its kernels find wrong as they run', /Non-zero status code/],
]

/** Tests that only ours run, and that give something else than ONNX's file says, with the reason. */
const known = new Map(
  Object.entries({
    "onnxruntime's Cast does not saturate at the ends of int4": ['cast_FLOAT_to_INT4', 'cast_FLOAT16_to_INT4'],
    "onnxruntime's Cast rounds to the nearest bfloat16, where ONNX's files cut the bits": [
      'cast_FLOAT_to_BFLOAT16',
      'castlike_FLOAT_to_BFLOAT16',
      'castlike_FLOAT_to_BFLOAT16_expanded',
    ],
  }).flatMap(([reason, names]) => names.map((name) => [`test_${name}`, reason] as [string, string])),
)

/** How often each verdict was given; refusals by their reason. Fails where tests differ in a way that is not known. */
export function judge(
  t: Pick<Test, 'same' | 'comment'>,
  verdicts: readonly Verdict[],
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  const wrong: string[] = []
  for (const { name, kind, text } of verdicts) {
    const why = kind === 'refused' ? refusals.find(([, words]) => words.test(text))?.[0] : known.get(name)
    if (why === undefined && (kind === 'refused' || kind === 'differs')) wrong.push(`${name}: ${text}`)
    const group = kind === 'same' || kind === 'more' ? kind : `${kind}: ${why ?? 'for no known reason'}`
    counts[group] = (counts[group] ?? 0) + 1
  }
  t.same(wrong, [], 'all are the same, or all refuse')
  t.comment(counts)
  return counts
}

/** Runs a test through all three, with each of its sets of inputs. */
export async function verdictOf(name: string): Promise<Verdict> {
  const place = join(folder, name)
  const bytes = readFileSync(join(place, 'model.onnx'))
  const { inputs, outputs } = inspectModel(await readModel(bytes))
  const isDeadly = [...inputs, ...outputs].some(({ dtype }) => deadly.includes(dtype))
  const sets = readdirSync(place).filter((entry) => entry.startsWith('test_data_set_'))
  let verdict: Verdict = { name, kind: 'differs', text: 'has no data' }
  for (const set of sets) {
    const given = valuesIn(join(place, set), 'input', inputs)
    const wanted = isDeadly ? ended : await ofSession(theirs, bytes, given)
    const found = [await ofSession(ours, bytes, given), await ofEngine(bytes, given)] as const
    const told = valuesIn(join(place, set), 'output', outputs)
    verdict = { name, ...verdictOn(wanted, found, told) }
    if (verdict.kind === 'differs') return verdict
  }
  return verdict
}

const ended: Outcome = { refused: 'onnxruntime-node ends the process: int4', at: 'run' }

function verdictOn(
  wanted: Outcome,
  found: readonly [session: Outcome, engine: Outcome],
  told: ReadonlyMap<string, Tensor>,
): Omit<Verdict, 'name'> {
  const lacksType = 'refused' in wanted && /Unsupported data type|ends the process/.test(String(wanted.refused))
  const all = Object.fromEntries(
    [...told].map(([name, { dtype, shape, data }]) => [name, { type: dtype, dims: shape, data }]),
  )
  let kind: Verdict['kind'] = 'refused' in wanted ? 'refused' : 'same'
  for (const [i, outcome] of found.entries()) {
    const runs = lacksType && 'values' in outcome
    if (runs) kind = 'more'
    const text = difference(runs ? { values: all, types: outcome.types } : wanted, outcome)
    if (text !== undefined) return { kind: 'differs', text: `${i === 0 ? 'the session' : 'the engine'} ${text}` }
  }
  return { kind, text: 'refused' in wanted ? String(wanted.refused) : '' }
}

/** Those of a set, by name; what is no tensor, or of a type that no Tensor has, is left out. */
function valuesIn(set: string, use: 'input' | 'output', infos: readonly ValueInfo[]): Map<string, Tensor> {
  const values = new Map<string, Tensor>()
  for (const [i, { name, kind, dtype }] of infos.entries()) {
    const file = join(set, `${use}_${i}.pb`)
    if (kind !== 'tensor' || !(dtypes as readonly string[]).includes(dtype) || !existsSync(file)) continue
    const tensor = tensorOf(fromBinary(TensorProtoSchema, readFileSync(file)))
    // ONNX's files have the bits of bfloat16 as uint16
    const isBits = dtype === 'bfloat16' && tensor.dtype === 'uint16'
    values.set(name, isBits ? new Tensor(dtype, tensor.data, tensor.shape) : tensor)
  }
  return values
}

function tensorOf(proto: TensorProto): Tensor {
  if (elementTypeName(proto.dataType) !== 'string') return tensorFromProto(proto)
  const texts = proto.stringData.map((text) => Buffer.from(text).toString())
  return new Tensor('string', texts, proto.dims.map(Number))
}

async function ofSession(
  ort: Pick<typeof theirs, 'InferenceSession' | 'Tensor'>,
  model: Uint8Array,
  inputs: ReadonlyMap<string, Tensor>,
): Promise<Outcome> {
  let session: theirs.InferenceSession
  try {
    session = await ort.InferenceSession.create(model, {
      executionProviders: ['cpu'],
      intraOpNumThreads: 1,
      logSeverityLevel: 4,
    })
  } catch (refused) {
    return { refused, at: 'load' }
  }
  try {
    const feeds = [...inputs].map(([name, { dtype, data, shape }]) => [
      name,
      new (ort.Tensor as any)(dtype, dtype === 'string' ? [...data] : data, shape),
    ])
    const values = await session.run(Object.fromEntries(feeds), { logSeverityLevel: 4 })
    const types = [session.inputMetadata, session.outputMetadata]
    return { values: values as unknown as Readonly<Record<string, Value>>, types }
  } catch (refused) {
    return { refused, at: 'run' }
  } finally {
    await session.release()
  }
}

async function ofEngine(model: Uint8Array, inputs: ReadonlyMap<string, Tensor>): Promise<Outcome> {
  let engine: Engine
  try {
    engine = await Engine.load(model, { backend: 'cpu', cpu: { threads: 1 } })
  } catch (refused) {
    return { refused, at: 'load' }
  }
  try {
    const needed = [...inputs].filter(([name]) => engine.inputs[name] !== undefined)
    const results = Object.entries(await engine.infer(Object.fromEntries(needed)))
    const values = results.map(([name, { dtype, shape, data }]) => [name, { type: dtype, dims: shape, data }] as const)
    return { values: Object.fromEntries(values), types: [] }
  } catch (refused) {
    return { refused, at: 'run' }
  } finally {
    await engine.close()
  }
}

/** How what was found is not what onnxruntime-node gives; nothing where it is the same. */
function difference(wanted: Outcome, found: Outcome): string | undefined {
  if ('refused' in found) {
    const { refused, at } = found
    if (!(refused instanceof TensorRTError)) return `is refused without a code at ${at}: ${String(refused)}`
    return 'refused' in wanted ? undefined : `is refused at ${at}: ${refused.code} ${refused.message}`
  }
  if ('refused' in wanted) return `runs what onnxruntime-node refuses at ${wanted.at}: ${String(wanted.refused)}`
  const names = Object.keys(wanted.values)
  if (found.types.length > 0 && JSON.stringify(found.types) !== JSON.stringify(wanted.types))
    return 'has other metadata'
  if (Object.keys(found.values).sort().join() !== names.sort().join()) return 'has other outputs'
  for (const name of names) {
    const [there, here] = [wanted.values[name]!, found.values[name]!]
    if (there.type !== here.type) return `gives ${name} as ${here.type}, not ${there.type}`
    if (there.dims.join() !== here.dims.join())
      return `gives ${name} as [${here.dims.join()}], not [${there.dims.join()}]`
    const odd = firstOther(there.data, here.data)
    if (odd >= 0) return `gives ${name}[${odd}] as ${String(here.data[odd])}, not ${String(there.data[odd])}`
  }
  return undefined
}

/** Where two lists first differ, by bits, with each NaN like the other; -1 where they do not. */
function firstOther(a: ArrayLike<unknown>, b: ArrayLike<unknown>): number {
  if (a.length !== b.length) return Math.min(a.length, b.length)
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return i
  return -1
}
