import sharp from 'sharp'
import t from 'tap'
import { unet } from '../support/networks/index.js'
import { drawLayers } from '../../lib/benchmark/index.js'
import { drawModel, GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { Tensor } from '../../lib/tensor.js'
import { failureOf } from '../support/errors.js'
import { elementsOf, numbersOf, parsedMarkup } from '../support/markup.js'

/** x → Conv → Relu → Add (with what came in) → y, and half of it → z. */
function small(name = 'small') {
  const g = new GraphBuilder({ name })
  const x = g.input('x', 'float32', ['n', 4, 8, 8])
  const w = g.constant('conv.weight', Tensor.zeros('float32', [4, 4, 3, 3]))
  const conv = g.node('Conv', [x, w], { pads: [1, 1, 1, 1] }, { name: '<conv & "1">' })
  const relu = g.node('Relu', [conv], {}, { name: 'relu' })
  const sum = g.node('Add', [relu, x], {}, { name: 'sum', output: 'y' })
  const half = g.constant('half', new Tensor('float32', Float32Array.of(0.1), []))
  g.output(sum, 'float32', ['n', 4, 8, 8])
  const mul = g.node('Mul', [sum, half], {}, { name: 'mul' })
  g.output(g.node('Cast', [mul], { to: 10 }, { name: 'cast', output: 'z' }), 'float16', ['n', 4, 8, 8])
  return parseModel(writeModel(g.toModel()))
}

const titles = (svg: string): string[] =>
  elementsOf(parsedMarkup(svg), 'text', 'name').map(({ textContent }) => textContent ?? '')

t.test('nodes with their constants and attributes, arrows with shapes', async (t) => {
  const svg = await drawModel(small())
  t.equal(svg, await drawModel(small()), 'the same each time')
  const page = parsedMarkup(svg)
  t.same(titles(svg).sort(), ['Add', 'Cast', 'Conv', 'Mul', 'Relu', 'x', 'y', 'z'])
  const box = (name: string) =>
    elementsOf(page, 'g', 'box').find((each) => elementsOf(each, 'text', 'name')[0]?.textContent === name)!
  const linesOf = (name: string) => elementsOf(box(name), 'text', 'line').map(({ textContent }) => textContent)
  t.same(linesOf('Conv'), ['<conv & "1">', 'pads=[1 1 1 1]', 'conv.weight: float32 4×4×3×3'])
  t.same(linesOf('Mul'), ['mul', 'half: 0.1'])
  t.same(linesOf('x'), ['float32 n×4×8×8'])
  const labels = elementsOf(page, 'g', 'arrow').map((arrow) => elementsOf(arrow, 'text')[0]?.textContent)
  t.same([labels.length, labels.filter((label) => label === 'n×4×8×8').length], [8, 7])
  t.equal(labels.filter((label) => label === 'float16 n×4×8×8').length, 1, 'the type where it is not float32')
  // from the top to the bottom, within the drawing, and each arrow ends at its box
  const order = ['x', 'Conv', 'Relu', 'Add', 'Mul', 'Cast', 'z'].map((name) =>
    numbersOf(elementsOf(box(name), 'rect')[0]!, 'y', 'height'),
  )
  t.ok(order.every(([y], i) => i === 0 || y! > order[i - 1]![0]! + order[i - 1]![1]!))
  const [width, height] = numbersOf(page.documentElement!, 'width', 'height')
  for (const rect of elementsOf(page, 'rect')) {
    const [x, y, w, h] = numbersOf(rect, 'x', 'y', 'width', 'height')
    t.ok(x! >= 0 && y! >= 0 && x! + w! <= width! && y! + h! <= height!)
  }
  const { data } = await sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  t.ok(new Set(data).size > 50, 'librsvg draws it')
  const sized = await drawModel(small(), { shapes: { x: [2, 4, 8, 8] } })
  t.match(sized, /2×4×8×8/)
  t.notMatch(sized, /n×4/)
})

t.test('the language of Graphviz', async (t) => {
  const dot = await drawModel(small('a "graph"\\'), { format: 'dot' })
  t.match(dot, /^digraph "a \\"graph\\"\\\\" \{\n[^]*\n\}\n$/)
  t.match(dot, /\[label="Conv\\n<conv & \\"1\\">\\npads=\[1 1 1 1\]\\nconv\.weight: float32 4×4×3×3", tooltip=/)
  t.equal(dot.match(/ -> /g)?.length, 8)
  t.match(dot, /"input x" -> "node 0" \[label="n×4×8×8"\]/)
})

t.test('a part of a graph: what is near, or the first ones; the rest is counted', async (t) => {
  const model = small()
  t.same(titles(await drawModel(model, { around: 'relu', depth: 0 })).sort(), ['Relu', '…', '…'])
  t.same(titles(await drawModel(model, { around: ['relu'], depth: 1 })).sort(), ['Add', 'Conv', 'Relu', 'x', 'y', '…'])
  t.same(
    titles(await drawModel(model, { around: 'x', depth: 0 })).sort(),
    ['Add', 'Conv', 'x', 'y', '…', '…'],
    'what reads an input',
  )
  const first = await drawModel(model, { limit: 2 })
  t.same(titles(first).sort(), ['Conv', 'Relu', 'x', '…'])
  t.match(first, /3 nodes are not drawn/)
  const large = unet.modelOf({ size: 64 })
  const end = await drawModel(large, { around: 'logits', depth: 1 })
  t.match(end, /1×2×64×64/)
  t.match(end, new RegExp(`${(large.graph?.node.length ?? 0) - 2} nodes are not drawn`))
  const wrong = [
    { around: 'nobody' },
    { around: [] as string[], depth: -1 },
    { limit: 0 },
    { format: 'png' },
    { colour: 'red' },
    { around: 7 },
  ]
  for (const options of wrong)
    t.match(await failureOf(() => drawModel(model, options as any)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await failureOf(() => drawModel(model, { shapes: { y: [1] } })), { code: 'ERR_TRT_UNKNOWN_INPUT' })
})

t.test("an engine's layers, by the inspector's document", async (t) => {
  const tensor = (name: string, type: string) => ({ Name: name, Dimensions: [1, 8], 'Format/Datatype': type })
  const Layers = [
    {
      Name: 'conv + relu',
      LayerType: 'CaskConvolution',
      Inputs: [tensor('x', 'Row major Int8 format')],
      Outputs: [tensor('a', 'Half')],
    },
    {
      Name: 'sum',
      LayerType: 'kgen',
      Inputs: [tensor('a', 'Half'), tensor('x', 'Row major Int8 format')],
      Outputs: [tensor('y', 'Float')],
    },
  ]
  const page = parsedMarkup(await drawLayers(JSON.stringify({ Layers, Bindings: ['x', 'y'] })))
  const kinds = elementsOf(page, 'g', 'box').map((box) => box.getAttribute('class'))
  t.same(kinds, ['box input', 'box output', 'box int8', 'box fp16'])
  t.equal(elementsOf(page, 'g', 'arrow').length, 4)
  t.match(await drawLayers(JSON.stringify({ Layers }), { format: 'dot' }), /"layer 0" -> "layer 1" \[label="1×8"\]/)
  for (const names of ['{"Layers":["conv","sum"]}', '{}', 'no JSON'])
    t.match(await failureOf(() => drawLayers(names)), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /detailed/ })
})
