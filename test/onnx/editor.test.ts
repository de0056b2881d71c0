import { readFile } from 'node:fs/promises'
import t from 'tap'
import {
  AttributeProtoSchema,
  create,
  GraphProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  SparseTensorProtoSchema,
  TensorProtoSchema,
  GraphBuilder,
  GraphEditor,
  isOnnx,
  inspectModel,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import type { GraphProto, ModelProto, NodeProto } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/tensor.js'
import { failure } from '../support/errors.js'
import { realModels } from '../support/real-models.js'
import { randomFloats, scalar } from '../support/values.js'
import { run } from './helpers.js'

const x3 = { data: Float32Array.of(-1, 2, 9), shape: [3] }
const misuse = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
const parse = (message: RegExp) => failure('ERR_TRT_ONNX_PARSE', message)
const numbersOf = (result: { data: ArrayLike<unknown> } | undefined): number[] => Array.from(result?.data ?? [], Number)
const named = (editor: GraphEditor, name: string): NodeProto => {
  const node = editor.nodes().find((one) => one.name === name)
  if (node === undefined) throw new Error(`no node ${name}`)
  return node
}

/** y = relu(x) · 2, and z = relu(x) + relu(x). */
function doubled(): ModelProto {
  const g = new GraphBuilder({ name: 'doubled' })
  const relu = g.node('Relu', [g.input('x', 'float32', [3])], {}, { name: 'relu', output: 'r' })
  const two = g.node('Constant', [], { value_float: 2 }, { name: 'two', output: '2' })
  g.output(g.node('Mul', [relu, two], {}, { name: 'mul', output: 'y' }), 'float32', [3])
  g.output(g.node('Add', [relu, relu], {}, { name: 'add', output: 'z' }), 'float32', [3])
  return parseModel(writeModel(g.toModel()))
}

t.test('what a graph has', async (t) => {
  const model = doubled()
  const editor = new GraphEditor(model)
  t.equal(editor.model, model)
  t.equal(editor.graph, model.graph)
  t.equal(editor.opset, 17)
  t.same(
    editor.nodes().map(({ name }) => name),
    ['relu', 'two', 'mul', 'add'],
  )
  t.equal(editor.producer('r'), named(editor, 'relu'))
  t.equal(editor.producer('x'), undefined)
  t.same(
    editor.uses('r').map(({ node, input }) => [node.name, input]),
    [
      ['mul', 0],
      ['add', 0],
      ['add', 1],
    ],
  )
  t.same(editor.uses('y'), [])
  t.same(
    [editor.isInput('x'), editor.isInput('r'), editor.isOutput('y'), editor.isOutput('x')],
    [true, false, true, false],
  )
  t.same(editor.nodes().map(isOnnx), [true, true, true, true])
  t.equal(editor.initializer('x'), undefined)
})

t.test('constants, of every kind', async (t) => {
  const g = new GraphBuilder({ name: 'constants' })
  const stored = new Tensor('int8', Int8Array.of(-3, 4), [2, 1])
  g.constant('stored', stored)
  const node = (attributes: Record<string, never>): string => g.node('Constant', [], attributes)
  const values = [
    [node({ value: stored } as never), 'int8', [-3, 4], [2, 1]],
    [node({ value_float: 0.5 } as never), 'float32', [0.5], []],
    [node({ value_floats: [1, 2.5] } as never), 'float32', [1, 2.5], [2]],
    [node({ value_int: 7 } as never), 'int64', [7n], []],
    [node({ value_ints: [1, -2] } as never), 'int64', [1n, -2n], [2]],
    ['stored', 'int8', [-3, 4], [2, 1]],
  ] as const
  const text = node({ value_string: 'a' } as never)
  const computed = g.node('Abs', ['stored'], {}, { output: 'abs' })
  g.output(computed, 'int8', [2, 1])
  const editor = new GraphEditor(g.toModel())
  for (const [name, dtype, elements, shape] of values) {
    const tensor = editor.constant(name)
    t.same([tensor?.dtype, Array.from<unknown>(tensor?.data ?? []), tensor?.shape], [dtype, elements, shape], name)
    t.equal(editor.constant(name), tensor, 'it is read once')
  }
  for (const name of [text, computed, 'nowhere']) t.equal(editor.constant(name), undefined)
  const initializer = editor.initializer('stored')
  if (initializer) initializer.dataLocation = 1
  t.throws(() => new GraphEditor(editor.model).constant('stored'), misuse(/loadExternalData/))
})

t.test('a node after another one, whose name it takes', async (t) => {
  const editor = new GraphEditor(doubled())
  const relu = named(editor, 'relu')
  const raw = editor.unused('r')
  t.equal(raw, 'r_1')
  editor.renameOutput(relu, 0, raw)
  t.equal(editor.producer('r'), undefined)
  t.equal(editor.uses('r').length, 3)
  const limit = editor.addConstant('2', scalar(6))
  t.equal(limit, '2_1')
  t.equal(editor.addNode('Min', [raw, limit], {}, { output: 'r' }), 'r')
  t.equal(editor.producer('r')?.name, 'Min')
  t.same(numbersOf(editor.constant(limit)), [6])
  const model = editor.finish()
  t.same(
    model.graph?.node.map(({ opType }) => opType),
    ['Relu', 'Constant', 'Min', 'Mul', 'Add'],
  )
  const result = await run(writeModel(model), { x: x3 })
  t.same(numbersOf(result['y']), [0, 4, 12])
  t.same(numbersOf(result['z']), [0, 4, 12])
})

t.test('inputs and uses replaced, nodes removed, outputs added', async (t) => {
  const editor = new GraphEditor(doubled())
  const [mul, add] = [named(editor, 'mul'), named(editor, 'add')]
  const four = editor.addConstant('four', scalar(4))
  const abs = editor.addNode('Abs', ['x'], {}, { name: 'abs' })
  t.equal(abs, 'abs')
  t.throws(
    () => editor.remove(named(editor, 'relu')),
    misuse(/Relu node "relu" cannot be removed: Mul node "mul" reads "r"/),
  )
  editor.replaceInput(mul, 1, four)
  editor.replaceUses('r', abs, ({ node, input }) => node === mul || input === 1)
  t.same(
    [mul.input, add.input],
    [
      ['abs', 'four'],
      ['r', 'abs'],
    ],
  )
  editor.addOutput(abs, 'float32')
  editor.addOutput('y', 'float32')
  const model = editor.finish()
  t.same(
    model.graph?.node.map(({ name }) => name),
    ['relu', 'abs', 'mul', 'add'],
    'the constant that nothing reads is gone',
  )
  t.match(inspectModel(model).outputs, [
    { name: 'y' },
    { name: 'z' },
    { name: 'abs', dtype: 'float32', shape: undefined },
  ])
  const result = await run(writeModel(model), { x: x3 })
  t.same(numbersOf(result['y']), [4, 8, 36])
  t.same(numbersOf(result['z']), [1, 4, 18])
  t.same(numbersOf(result['abs']), [1, 2, 9])

  editor.replaceUses('r', 'x')
  editor.remove(named(editor, 'relu'))
  editor.finish()
  t.same(
    editor.uses('x').map(({ node }) => node.name),
    ['abs', 'add'],
    'an editor can go on after finish',
  )
  t.same(numbersOf((await run(writeModel(model), { x: x3 }))['z']), [0, 4, 18])
})

t.test('what was said of a value goes when it means something else', async (t) => {
  const g = new GraphBuilder({ name: 'types' })
  g.output(
    g.node('Neg', [g.node('Relu', [g.input('x', 'float32', [3])], {}, { output: 'r' })], {}, { output: 'y' }),
    'float32',
    [3],
  )
  const model = g.toModel()
  for (const name of ['r', 'gone', 'x']) {
    const other = new GraphBuilder({ name: 'said' })
    other.output(other.input(name, 'float32', [3]), 'float32', [3])
    model.graph?.valueInfo.push(...(other.toModel().graph?.input ?? []))
  }
  const editor = new GraphEditor(model)
  editor.renameOutput(editor.nodes()[0] as NodeProto, 0, 'raw')
  editor.addNode('Cast', ['raw'], { to: 7 }, { output: 'r' })
  t.same(
    editor.finish().graph?.valueInfo.map(({ name }) => name),
    ['x'],
  )
})

/**
 * y = if (condition) x + r else x · r, where r = relu(x) is read inside of the branches only; the If comes first in the
 * file.
 */
function branches(): ModelProto {
  const branch = (operator: string, output: string) => {
    const g = new GraphBuilder({ name: operator })
    g.output(
      g.node(operator, [g.input('x', 'float32', [3]), g.input('r', 'float32', [3])], {}, { output }),
      'float32',
      [3],
    )
    const { graph } = g.toModel()
    graph?.input.splice(0)
    return graph as GraphProto
  }
  const g = new GraphBuilder({ name: 'branches' })
  const condition = g.input('condition', 'float32', [])
  g.node('Relu', [g.input('x', 'float32', [3])], {}, { name: 'relu', output: 'r' })
  const flag = g.node('Cast', [condition], { to: 9 }, { name: 'flag' })
  g.output(g.node('If', [flag], {}, { name: 'if', output: 'y' }), 'float32', [3])
  const model = g.toModel()
  const graph = model.graph
  const chosen = graph?.node.at(-1)
  chosen?.attribute.push(
    create(AttributeProtoSchema, { name: 'then_branch', type: 5, g: branch('Add', 'sum') }),
    create(AttributeProtoSchema, { name: 'else_branch', type: 5, g: branch('Mul', 'product') }),
  )
  graph?.node.reverse()
  return model
}

t.test('graphs inside of nodes read what is outside', async (t) => {
  const editor = new GraphEditor(branches())
  t.same(
    editor.nodes().map(({ name }) => name),
    ['flag', 'relu', 'if'],
    'what they read comes before',
  )
  const inner = named(editor, 'if')
  t.same(editor.uses('r'), [{ node: inner, input: -1 }])
  t.throws(() => editor.remove(named(editor, 'relu')), misuse(/If node "if" reads "r"/))
  t.not(editor.unused('sum'), 'sum')
  const six = editor.addConstant('six', scalar(6))
  const limited = editor.addNode('Min', ['r', six])
  editor.replaceUses('r', limited, ({ node }) => node === inner)
  t.same(editor.uses(limited), [{ node: inner, input: -1 }])
  t.throws(() => editor.replaceUses(limited, 'sum'), misuse(/a value of the graph/))
  const bytes = writeModel(editor.finish())
  for (const [condition, wanted] of [
    [1, [-1, 4, 15]],
    [0, [-0, 4, 54]],
  ] as const) {
    const result = await run(bytes, { x: x3, condition: { data: Float32Array.of(condition), shape: [] } })
    t.same(numbersOf(result['y']), wanted)
  }
})

t.test('a name that means something else inside is not put there', async (t) => {
  const model = branches()
  model.graph?.node.push(create(NodeProtoSchema, { name: 'other', opType: 'Neg', input: ['x'], output: ['sum'] }))
  const editor = new GraphEditor(model)
  t.throws(() => editor.replaceUses('r', 'sum'), misuse(/"r" cannot be replaced by "sum" inside of If node "if"/))
  t.same(editor.uses('r').length, 1)
})

t.test('graphs that cannot run', async (t) => {
  const broken = (change: (model: ModelProto, graph: NonNullable<ModelProto['graph']>) => void) => () => {
    const model = doubled()
    change(model, model.graph as never)
    return new GraphEditor(model)
  }
  const cases: [RegExp, Parameters<typeof broken>[0]][] = [
    [/the model has none/, (model) => delete model.graph],
    [/Mul node "mul" reads "y", which is computed .* a cycle/, (_, { node }) => node[2]?.input.splice(0, 1, 'y')],
    [/a cycle/, (_, { node }) => node[0]?.input.splice(0, 1, 'z')],
    [/Relu node "relu" reads "nowhere", which is not defined/, (_, { node }) => node[0]?.input.splice(0, 1, 'nowhere')],
    [/output "w" of the graph is not defined/, (_, { output }) => Object.assign(output[0] ?? {}, { name: 'w' })],
    [/Mul node "mul" and Add node "add" define the value "y"/, (_, { node }) => node[3]?.output.push('y')],
    [/An input or initializer and Relu node "relu" define the value "x"/, (_, { node }) => node[0]?.output.push('x')],
    [/Two inputs of the graph define the value "x"/, (_, { input }) => input.push(...input)],
    [
      /Two initializers define the value "w"/,
      (_, { initializer }) => initializer.push(...[1, 2].map(() => create(TensorProtoSchema, { name: 'w' }))),
    ],
    [/An initializer has no name/, (_, { initializer }) => initializer.push(create(TensorProtoSchema))],
    [
      /A sparse initializer has no name/,
      (_, { sparseInitializer }) => sparseInitializer.push(create(SparseTensorProtoSchema)),
    ],
    [/An input of the graph has no name/, (_, { input }) => Object.assign(input[0] ?? {}, { name: '' })],
    [/The node "relu" has no operator/, (_, { node }) => Object.assign(node[0] ?? {}, { opType: '' })],
    [
      /The node that gives "r" has no operator/,
      (_, { node }) => Object.assign(node[0] ?? {}, { opType: '', name: '' }),
    ],
  ]
  for (const [message, change] of cases) t.throws(broken(change), parse(message), String(message))
  const inside = branches()
  inside.graph?.node[0]?.attribute[0]?.g?.node[0]?.input.push('nowhere')
  t.throws(() => new GraphEditor(inside), parse(/If node "if" has a graph that reads "nowhere"/))
  const deep = branches()
  for (let i = 0; i < 100; i++) {
    const g = deep.graph
    deep.graph = create(GraphProtoSchema, {
      node: [
        { opType: 'If', name: `if${i}`, output: ['y'], attribute: [{ name: 'then_branch', type: 5, ...(g && { g }) }] },
      ],
    })
  }
  t.throws(() => new GraphEditor(deep), parse(/more than 64 deep/))
})

t.test('a node with several outputs, and a domain of its own, by create', async (t) => {
  const model = doubled()
  model.opsetImport.push(create(OperatorSetIdProtoSchema, { domain: 'com.microsoft', version: 1n }))
  model.graph?.node.push(
    create(NodeProtoSchema, { name: 'split', opType: 'Split', input: ['y'], output: ['first', 'middle', 'last'] }),
  )
  const editor = new GraphEditor(model)
  const gelu = editor.addNode('Gelu', ['last'], {}, { domain: 'com.microsoft' })
  editor.addOutput(gelu, 'float32')
  const result = await run(writeModel(editor.finish()), { x: x3 })
  const wanted = 18 // of 18, Gelu leaves all
  t.same(numbersOf(result[gelu]), [wanted])
})

t.test('an input that was not there', async (t) => {
  const editor = new GraphEditor(doubled())
  const factor = editor.addInput('x', 'float32', ['N'])
  t.equal(factor, 'x_1', 'x is taken')
  t.equal(editor.addInput(factor, 'float32', []), 'x_1_1')
  editor.addOutput(editor.addNode('Mul', ['y', factor], {}, { name: 'scaled' }), 'float32')
  const model = editor.finish()
  t.match(inspectModel(model).inputs.slice(1), [{ name: 'x_1', dtype: 'float32', shape: ['N'] }, { name: 'x_1_1' }])
  const result = await run(writeModel(model), { x: x3, x_1: x3, x_1_1: { data: Float32Array.of(0), shape: [] } })
  t.same(
    numbersOf(result['scaled']),
    numbersOf(result['y']).map((y, i) => y * (numbersOf(x3)[i] as number)),
  )
})

t.test('misuse is refused', async (t) => {
  const editor = new GraphEditor(doubled())
  const relu = named(editor, 'relu')
  const foreign = create(NodeProtoSchema, { opType: 'Relu' })
  t.throws(() => editor.remove(foreign), misuse(/a node of the graph/))
  t.throws(() => editor.replaceInput(foreign, 0, 'x'), misuse(/a node of the graph/))
  t.throws(() => editor.replaceInput(relu, 2, 'x'), misuse(/from 0 to 1 for input of Relu node "relu"/))
  t.throws(() => editor.replaceInput(relu, 0, 'nowhere'), misuse(/a value of the graph/))
  t.throws(() => editor.renameOutput(relu, 1, 'a'), misuse(/output of Relu node "relu"/))
  t.throws(() => editor.renameOutput(relu, 0, 'y'), misuse(/a value named "y" already/))
  t.throws(() => editor.addNode('Relu', ['nowhere']), misuse(/a value of the graph for input of Relu/))
  t.throws(() => editor.addNode('Relu', ['x'], {}, { output: 'y' }), misuse(/a value named "y" already/))
  t.throws(() => editor.addNode('Relu', ['x'], {}, { name: 'relu' }), misuse(/a node named "relu" already/))
  t.throws(
    () => editor.addNode('Gelu', ['x'], {}, { domain: 'com.microsoft' }),
    misuse(/not in the model's opsetImport/),
  )
  t.throws(() => editor.addNode('', ['x']), misuse(/operator/))
  t.throws(() => editor.addConstant('c', [1] as never), misuse(/a Tensor for constant c/))
  t.throws(() => editor.addOutput('nowhere', 'float32'), misuse(/a value of the graph/))
  t.throws(() => editor.addInput('', 'float32', []), misuse(/name of a value/))
  t.throws(() => editor.addInput('more', 'float99' as never, []), misuse(/an element type|another element type/))
  t.throws(() => editor.addInput('more', 'float32', [-1]), misuse(/shape of more/))
  t.throws(() => editor.addOutput('r', 'float99' as never), misuse(/an element type/))
  t.throws(() => editor.setOpset(16), misuse(/an integer from 17 for opset/))
  t.throws(() => editor.unused(''), misuse(/name of a value/))

  editor.renameOutput(relu, 0, 'raw')
  t.throws(() => editor.finish(), parse(/Mul node "mul" reads "r", which is not defined/))
  editor.addNode('Abs', ['raw'], {}, { output: 'r' })
  editor.replaceInput(relu, 0, 'r')
  t.throws(() => editor.finish(), parse(/a cycle/))
})

t.test('versions', async (t) => {
  const model = doubled()
  const editor = new GraphEditor(model)
  editor.setOpset(21)
  t.match(inspectModel(editor.finish()), { opset: 21, irVersion: 10 })
  t.same(numbersOf((await run(writeModel(model), { x: x3 }))['y']), [0, 4, 18])
  model.opsetImport = []
  t.equal(editor.opset, 1)
  editor.setOpset(13)
  t.match(inspectModel(model), { opset: 13, irVersion: 10 })
})

t.test('initializers that are inputs, as old files have them', async (t) => {
  const g = new GraphBuilder({ name: 'old', opset: 8, irVersion: 3 })
  const x = g.input('x', 'float32', [3])
  g.constant('w', scalar(2))
  g.constant('unread', scalar(2))
  g.output(g.node('Mul', [x, 'w'], {}, { output: 'y' }), 'float32', [3])
  const model = g.toModel()
  for (const name of ['w', 'unread']) {
    const other = new GraphBuilder({ name: 'other' })
    other.output(other.input(name, 'float32', []), 'float32', [])
    model.graph?.input.push(...(other.toModel().graph?.input ?? []))
  }
  const editor = new GraphEditor(model)
  t.same([editor.isInput('x'), editor.isInput('w')], [true, false])
  t.same(numbersOf(editor.constant('w')), [2])
  editor.finish()
  t.same([model.irVersion, model.graph?.input.map(({ name }) => name)], [3n, ['x', 'w']])
  t.same(numbersOf((await run(writeModel(model), { x: x3 }))['y']), [-2, 4, 18])

  editor.replaceInput(editor.nodes()[0] as NodeProto, 1, editor.addConstant('w', scalar(3)))
  editor.finish()
  t.same([model.irVersion, model.graph?.input.map(({ name }) => name)], [4n, ['x']])
  t.same(numbersOf((await run(writeModel(model), { x: x3 }))['y']), [-3, 6, 27])
})

t.test('a real model is the same when nothing was edited', async (t) => {
  const model = parseModel(await readFile(realModels.classifier))
  const order = model.graph?.node.map(({ output }) => output[0])
  const editor = new GraphEditor(model)
  editor.finish()
  const shape = [1, 3, 48, 192]
  const feeds = { [inspectModel(model).inputs[0]?.name as string]: { data: randomFloats(shape, 7), shape } }
  t.same(await run(writeModel(model), feeds), await run(await readFile(realModels.classifier), feeds))
  t.same(
    editor.nodes().map(({ output }) => output[0]),
    order?.filter((value) => editor.producer(value as string) !== undefined),
  )
})

t.test('20,000 nodes that all read one value', async (t) => {
  const g = new GraphBuilder({ name: 'large' })
  let last = g.input('x', 'float32', [3])
  const shared = g.constant('shared', scalar(1))
  for (let i = 0; i < 20_000; i++) last = g.node('Add', [last, shared])
  g.output(last, 'float32', [3])
  const model = g.toModel()
  model.graph?.node.reverse()
  const editor = new GraphEditor(model)
  const two = editor.addConstant('shared', scalar(2))
  for (const node of editor.nodes()) {
    if (node.name.endsWith('7')) {
      const value = node.output[0] as string
      const raw = editor.unused('raw')
      editor.renameOutput(node, 0, raw)
      editor.addNode('Neg', [raw], {}, { output: value })
    }
  }
  editor.replaceUses(shared, two, ({ node }) => node.name.endsWith('3'))
  const { graph } = editor.finish()
  t.equal(graph?.node.length, 22_000)
  t.equal(editor.uses(two).length, 2000)
  t.equal(editor.uses(shared).length, 18_000)
  t.doesNotThrow(() => new GraphEditor(model))
  const known = new Set(['x', shared, two])
  const early = graph?.node.filter(({ input, output }) => {
    const isEarly = !input.every((value) => known.has(value))
    output.forEach((value) => known.add(value))
    return isEarly
  })
  t.same(early, [], 'each node comes after what it reads')
})

t.test('outputs are replaced', async (t) => {
  const g = new GraphBuilder({ name: 'outputs' })
  const a = g.node('Relu', [g.input('x', 'float32', [2])], {}, { output: 'a' })
  g.output(g.node('Neg', [a], {}, { output: 'b' }), 'float32', [2])
  const editor = new GraphEditor(g.toModel())
  editor.dropOutputs()
  t.notOk(editor.isOutput('b'))
  for (const value of ['b', 'a']) editor.addOutput(value, 'float32')
  t.same(
    editor.finish().graph?.output.map(({ name }) => name),
    ['b', 'a'],
  )
})
