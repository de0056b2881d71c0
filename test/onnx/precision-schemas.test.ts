// Half precision against ONNX's own schemas (test/facts/schemas.json): every operator that is converted, from each
// opset on.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  convertPrecision,
  GraphBuilder,
  type HalfPrecision,
  type ModelProto,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { staysFloat, takesSince } from '../../lib/onnx/precision/operators.js'
import { root } from '../fake/build.js'
import { failureOf } from '../support/errors.js'
import { floats, scalar } from '../support/values.js'

type Value = readonly [name: string, type: string, how: string]
interface Version {
  readonly since: number
  readonly inputs: readonly Value[]
  readonly outputs: readonly Value[]
  readonly types: Readonly<Record<string, readonly string[]>>
}
const { operators, opset: newest } = JSON.parse(readFileSync(join(root, 'test', 'facts', 'schemas.json'), 'utf8')) as {
  readonly opset: number
  readonly operators: Readonly<Record<string, readonly Version[]>>
}

const precisions = [['fp16', 'float16'], ['bf16', 'bfloat16']] as const // prettier-ignore

/**
 * What of an operator's version does not take a type that conversion gives it: float inputs and outputs change
 * together, but for those that stay.
 */
function wrong(name: string, { inputs, outputs, types }: Version, type: string): string[] {
  const sides = [['input', inputs], ['output', outputs]] as const // prettier-ignore
  return sides.flatMap(([side, values]) => {
    const converted = values.filter(
      ([, variable], i) => types[variable]?.includes('float') && !staysFloat(name, side, i),
    )
    const staying = values.filter(([, variable], i) => types[variable]?.includes('float') && staysFloat(name, side, i))
    const torn = staying.filter(([, variable]) => converted.some(([, other]) => other === variable))
    return [...converted.filter(([, variable]) => !types[variable]?.includes(type)), ...torn].map(([value]) => value)
  })
}

t.test('each operator takes what conversion gives it, in each version from its first opset on', (t) => {
  let checked = 0
  for (const [name, versions] of Object.entries(operators)) {
    for (const [precision, type] of precisions) {
      const since = takesSince(name, precision)
      if (since === undefined) continue
      for (const [i, version] of versions.entries()) {
        const next = versions[i + 1]?.since ?? Infinity
        if (next <= since) continue
        checked++
        const found = wrong(name, version, type)
        if (found.length > 0)
          t.fail(`${name} of opset ${Math.max(since, version.since)} does not take ${type}: ${found.join(', ')}`)
      }
    }
  }
  t.ok(checked > 400, `${checked} versions`)
  t.end()
})

t.test('an operator is converted from the first opset on that takes the type, and not later', (t) => {
  for (const [name, versions] of Object.entries(operators)) {
    for (const [precision, type] of precisions) {
      const since = takesSince(name, precision)
      if (since === undefined) continue
      const first = versions.find(
        (version) =>
          Object.values(version.types).some((types) => types.includes(type)) && wrong(name, version, type).length === 0,
      )
      t.equal(since, first?.since ?? newest, `${name} in ${type}`)
    }
  }
  t.end()
})

/** y = (x - 1) ^ 2 (LayerNormalization as it was written out), and a Dropout with a ratio. */
function pow(opset: number): Uint8Array {
  const g = new GraphBuilder({ name: 'pow', opset })
  const centred = g.node('Sub', [g.input('x', 'float32', ['N']), g.constant('one', scalar(1))])
  const squared = g.node('Pow', [centred, g.constant('two', scalar(2))], {}, { name: 'pow' })
  g.output(g.node('Dropout', [squared, g.constant('ratio', scalar(0.5))], {}, { output: 'y' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

function converted(bytes: Uint8Array, precision: HalfPrecision): ReturnType<typeof convertPrecision> {
  return convertPrecision(parseModel(bytes), precision)
}

const typeOf = ({ graph }: ModelProto, name: string): number | undefined =>
  graph?.initializer.find((tensor) => tensor.name === name)?.dataType

t.test('bfloat16: the exponent of a Pow needs opset 15, and the ratio of a Dropout stays float32', (t) => {
  for (const opset of [13, 14]) {
    const { model, report } = converted(pow(opset), 'bf16')
    t.same(report.opset, { from: opset, to: 15 })
    t.same(report.kept, [])
    t.same([typeOf(model, 'two'), typeOf(model, 'ratio')], [16, 1])
  }
  t.equal(converted(pow(15), 'bf16').report.opset, undefined)
  t.same(['two', 'ratio'].map((name) => typeOf(converted(pow(13), 'fp16').model, name)), [10, 1]) // prettier-ignore
  t.end()
})

t.test('models of opset 1 to 5 are refused, unless nothing of them is converted', async (t) => {
  const g = new GraphBuilder({ name: 'old' })
  g.output(
    g.node('Add', [g.input('x', 'float32', [2]), g.constant('w', floats(1, 70000))], {}, { name: 'add', output: 'y' }),
    'float32',
    [2],
  )
  const old = (initMax?: number): unknown => {
    const model = g.toModel()
    for (const row of model.opsetImport) row.version = 5n
    return convertPrecision(model, 'fp16', { initMax })
  }
  t.match(await failureOf(() => old(1e6)), {
    code: 'ERR_TRT_PRECISION',
    message: /opset 5, and a Cast as it is needed is there from opset 6 on\. Export it/,
    details: { opset: 5, needed: 6 },
  })
  t.match(old(), { report: { converted: 0, casts: 0, kept: [{ node: 'add', reason: 'weights' }] } })
})

t.test('an input with a default keeps its declared type, as all inputs do', (t) => {
  const model = (irVersion: bigint): ModelProto => {
    const g = new GraphBuilder({ name: 'default' })
    const sum = g.node('Add', [g.input('x', 'float32', [2]), g.constant('w', floats(1, 2))])
    g.output(g.node('Mul', [sum, g.constant('v', floats(3, 4))], {}, { output: 'y' }), 'float32', [2])
    const made = g.toModel()
    const [x] = made.graph?.input ?? []
    if (x) made.graph?.input.push({ ...x, name: 'w' })
    return Object.assign(made, { irVersion })
  }
  const types = ({ graph }: ModelProto): unknown =>
    graph?.input.map(({ name, type }) => [
      name,
      type?.value.case === 'tensorType' ? type.value.value.elemType : undefined,
    ])
  const { model: later, report } = convertPrecision(model(8n), 'fp16')
  t.same(types(later), [['x', 1], ['w', 1]]) // prettier-ignore
  t.same([typeOf(later, 'w'), typeOf(later, 'v')], [1, 10], 'it is cast when it runs')
  t.same(report.weights, { bytesBefore: 16, bytesAfter: 12, bytesConverted: 8, flushed: 0 })
  t.same(types(convertPrecision(model(8n), 'fp16', { keepIO: false }).model), [['x', 10], ['w', 10]]) // prettier-ignore
  // before version 4 of the format every initializer had to be listed: for runtimes they are constants
  const { model: earlier } = convertPrecision(model(3n), 'fp16')
  t.same(types(earlier), [['x', 1]])
  t.same([typeOf(earlier, 'w'), earlier.irVersion >= 4n], [10, true])
  t.end()
})
