// Damaged and hand-made models go through all that lib/onnx does with one: what comes out is a model or a typed error.
// TRT_FUZZ_SEED=n begins elsewhere.
import t from 'tap'
import {
  AttributeProtoSchema,
  checkModel,
  create,
  GraphEditor,
  GraphProtoSchema,
  inferTypes,
  ModelProtoSchema,
  inspectModel,
  NodeProtoSchema,
  TensorProtoSchema,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import type { GraphProto, ModelProto } from '../../lib/onnx/index.js'
import { errorCodes, TensorRTError } from '../../lib/errors.js'
import { mutant } from '../builder/fuzz/mutate.js'
import { seeds } from '../builder/fuzz/seeds.js'
import { Random } from '../support/random.js'
import { runNode } from '../support/children.js'
import { long, size } from '../support/tiers.js'

const count = size(200, 10_000)
/** Nodes in a row: far more than a stack has room for, and than anything quadratic gets through. */
const chained = size(20_000, 100_000)
const inWords = chained.toLocaleString('en')
const firstSeed = Number(process.env['TRT_FUZZ_SEED'] ?? 20_261_122)
/** Of the whole process, tests included; the largest seed has 11 MB. */
const mostMemory = 2 ** 30

type Step = (model: ModelProto) => unknown

/** What one refuses another may take; the last one changes the model. */
const steps: Readonly<Record<string, Step>> = {
  checkModel,
  inspectModel,
  inferTypes,
  'inferTypes with shapes': (model) => {
    const sized = inspectModel(model).inputs.map(
      ({ name, shape }) => [name, shape?.map((dim) => (typeof dim === 'number' && dim >= 0 ? dim : 2)) ?? []] as const,
    )
    return inferTypes(model, { shapes: Object.fromEntries(sized) })
  },
  constants: (model) => {
    const editor = new GraphEditor(model)
    for (const node of editor.nodes()) for (const value of node.input) typed(() => editor.constant(value))
  },
  'edits and finish': (model) => writeModel(edited(model)),
}

/** A node after each tenth one, and its name for it. */
function edited(model: ModelProto): ModelProto {
  const editor = new GraphEditor(model)
  for (const [i, node] of editor.nodes().entries()) {
    const value = node.output[0]
    if (i % 10 !== 0 || value === undefined || value === '') continue
    const raw = editor.unused(`${value}_raw`)
    editor.renameOutput(node, 0, raw)
    editor.addNode('Identity', [raw], {}, { output: value })
  }
  const finished = editor.finish()
  new GraphEditor(finished)
  return finished
}

const outcomes: Record<string, number> = {}

/** Whether the body ends without an error. @throws whatever it throws that is no typed error */
function typed(body: () => unknown): boolean {
  try {
    body()
    return true
  } catch (error) {
    if (!(error instanceof TensorRTError) || !Object.hasOwn(errorCodes, error.code)) throw error
    outcomes[error.code] = (outcomes[error.code] ?? 0) + 1
    return false
  }
}

/** What came of the steps, one after the other on one model: errors that are not typed. */
function problems(model: ModelProto): string[] {
  return Object.entries(steps).flatMap(([name, step]) => {
    try {
      if (typed(() => step(model))) outcomes[name] = (outcomes[name] ?? 0) + 1
      return []
    } catch (error) {
      return [`${name}: ${String(error instanceof Error ? error.stack : error)}`]
    }
  })
}

/** The same from bytes, which may be no model. */
function problemsOf(bytes: Uint8Array): string[] {
  let model: ModelProto | undefined
  return typed(() => (model = parseModel(bytes))) && model !== undefined ? problems(model) : []
}

t.test(`${count} mutated models`, { timeout: 0 }, async (t) => {
  const all = await seeds()
  for (const { name, bytes } of all) {
    t.same(problemsOf(bytes), [], name)
    t.doesNotThrow(() => checkModel(parseModel(bytes)), `${name} is right as it is`)
  }
  const found: string[] = []
  let peak = 0
  for (let i = 0; i < count; i++) {
    const { seed, mutations, bytes } = mutant(all, new Random(firstSeed + i * 7919))
    found.push(...problemsOf(bytes).map((problem) => `#${i} ${seed}: ${mutations.join(', ')}: ${problem}`))
    peak = Math.max(peak, process.memoryUsage.rss())
    if (i % 50 === 0) await new Promise(setImmediate)
  }
  t.comment(JSON.stringify(outcomes), `${Math.round(peak / 2 ** 20)} MiB at most`)
  t.same(found, [])
  t.ok(peak < mostMemory, `${peak} bytes`)
  t.ok((outcomes['ERR_TRT_ONNX_PARSE'] ?? 0) > count / 10, 'many are found to be wrong')
  t.ok((outcomes['edits and finish'] ?? 0) > count / 10, 'and many can be worked on')
})

const relu = (input: string, output: string) => ({
  name: `of ${output}`,
  opType: 'Relu',
  input: [input],
  output: [output],
})
const modelOf = (graph: Parameters<typeof create<typeof GraphProtoSchema>>[1]): ModelProto =>
  create(ModelProtoSchema, { irVersion: 8n, opsetImport: [{ version: 17n }], graph: create(GraphProtoSchema, graph) })

function nested(depth: number): ModelProto {
  let graph: GraphProto = create(GraphProtoSchema, { node: [relu('x', 'y')], output: [{ name: 'y' }] })
  for (let i = 0; i < depth; i++) {
    const attribute = create(AttributeProtoSchema, { name: 'body', type: 5, g: graph })
    graph = create(GraphProtoSchema, {
      node: [create(NodeProtoSchema, { opType: 'Loop', output: ['y'], attribute: [attribute] })],
      output: [{ name: 'y' }],
    })
  }
  return modelOf(graph)
}

/** A chain of nodes, the last one first, that ends in `end`. */
function chain(end: string): ModelProto {
  const node = Array.from({ length: chained }, (_, i) => relu(i === chained - 1 ? end : `v${i + 1}`, `v${i}`))
  return modelOf({
    node,
    input: [],
    output: [{ name: 'v0' }],
    initializer: [{ name: 'w', dataType: 1, dims: [1n], rawData: new Uint8Array(4) }],
  })
}

const tensor = (dims: bigint[]) =>
  create(TensorProtoSchema, { name: 'w', dataType: 1, dims, rawData: new Uint8Array(4) })
const huge = 2n ** 62n

/** By hand, and whether it can run. */
const handMade: Readonly<Record<string, readonly [ModelProto, 'right' | 'wrong']>> = {
  'a cycle of two': [modelOf({ node: [relu('a', 'b'), relu('b', 'a')], output: [{ name: 'a' }] }), 'wrong'],
  [`a cycle of ${inWords}`]: [chain('v0'), 'wrong'],
  [`a chain of ${inWords}`]: [chain('w'), 'right'],
  'a missing initializer': [modelOf({ node: [relu('w', 'y')], output: [{ name: 'y' }] }), 'wrong'],
  'a name used twice': [
    modelOf({ node: [relu('w', 'y'), relu('w', 'y')], initializer: [tensor([1n])], output: [{ name: 'y' }] }),
    'wrong',
  ],
  'huge dims': [modelOf({ initializer: [tensor([huge, huge, huge])], output: [{ name: 'w' }] }), 'wrong'],
  'negative dims': [modelOf({ initializer: [tensor([-1n])], output: [{ name: 'w' }] }), 'wrong'],
  'two negative dims': [modelOf({ initializer: [tensor([-1n, -1n])], output: [{ name: 'w' }] }), 'wrong'],
  'an unknown operator': [modelOf({ node: [{ opType: 'NoSuch', output: ['y'] }], output: [{ name: 'y' }] }), 'right'],
  'an unknown domain': [
    modelOf({ node: [{ opType: 'Relu', domain: 'no.such', output: ['y'] }], output: [{ name: 'y' }] }),
    'wrong',
  ],
  'graphs in graphs': [nested(20), 'wrong'],
  'graphs in graphs, too deep for a file': [nested(200), 'wrong'],
  'attributes of prototypes': [
    modelOf({
      node: [
        { opType: 'constructor', output: ['y'] },
        { opType: '__proto__', output: ['__proto__'] },
      ],
      output: [{ name: 'y' }],
    }),
    'right',
  ],
  'a huge shape that is computed': [
    modelOf({
      node: [
        { opType: 'ConstantOfShape', input: ['s'], output: ['y'] },
        { opType: 'Tile', input: ['y', 's'], output: ['z'] },
        { opType: 'Shape', input: ['z'], output: ['n'] },
      ],
      initializer: [{ name: 's', dataType: 7, dims: [3n], int64Data: [huge, huge, huge] }],
      output: [{ name: 'n' }],
    }),
    'right',
  ],
}

for (const [name, [model, state]] of Object.entries(handMade)) {
  t.test(name, async (t) => {
    if (state === 'right') t.doesNotThrow(() => checkModel(model))
    else t.throws(() => checkModel(model), { name: 'TensorRTError', code: 'ERR_TRT_ONNX_PARSE' })
    t.same(problemsOf(writeModel(model)), [], 'from bytes')
    t.same(problems(model), [])
  })
}

t.test('a small file that would take gigabytes of memory is refused, and not decoded', async (t) => {
  const parse = (bytes: string): string => `
    import { parseModel } from ${JSON.stringify(new URL('../../lib/onnx/model.js', import.meta.url).href)}
    const varint = (n) => { const bytes = []; for (; n > 127; n = Math.floor(n / 128)) bytes.push((n % 128) | 128); return [...bytes, n] }
    const field = (number, content) => Buffer.concat([Buffer.from(varint(number * 8 + 2)), Buffer.from(varint(content.length)), content])
    const repeated = (bytes, times) => Buffer.alloc(bytes.length * times, Buffer.from(bytes))
    const head = Buffer.from([0x08, 8, 0x42, 2, 0x10, 17])
    try {
      parseModel(Buffer.concat([head, field(7, ${bytes})]))
    } catch (error) {
      console.log(error.code, error.message)
    }`
  const cases: [string, string, RegExp][] = [
    ['12 million empty nodes', 'repeated([0x0a, 0], 12_000_000)', /more than 4,194,304 nodes/],
    ['as many names of inputs of a node', 'field(1, repeated([0x0a, 0], 12_000_000))', /more than 4,194,304 nodes/],
    [
      '60 million numbers of 64 bits in a list',
      'field(5, field(7, repeated([1], 60_000_000)))',
      /more than 67,108,864 numbers/,
    ],
    ['as many that stand by themselves', 'field(5, repeated([0x38, 1], 30_000_000))', /more than 67,108,864 numbers/],
    ['fields that nobody knows', 'repeated([0xb8, 0x7d, 1], 12_000_000)', /more than 4,194,304/],
  ]
  for (const [what, bytes, message] of cases.filter((_, i) => long || i % 2 === 0)) {
    const { code, stdout, stderr } = await runNode([
      '--max-old-space-size=400',
      '--input-type=module',
      '-e',
      parse(bytes),
    ])
    t.equal(code, 0, `${what}: ${stderr.slice(0, 200)}`)
    t.match(stdout, new RegExp(`^ERR_TRT_ONNX_PARSE Cannot parse the model as ONNX: it has ${message.source}`), what)
  }
})
