// The commands as people see them: on a terminal, with a file that cannot be read, and with ctrl-C. Each ends, gives
// the terminal back as it was, and leaves no half file.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { facePhoto } from '../../examples/support/program.js'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { Plan } from '../../lib/index.js'
import { GraphBuilder, inspectModel, readModel, writeModel } from '../../lib/onnx/index.js'
import { readImage, writeImage } from '../../lib/vision/index.js'
import { Tensor } from '../../lib/tensor.js'
import { oneNode } from '../support/models.js'
import { Random } from '../support/random.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { colours } from '../tasks/models.js'
import { onTerminal, type OnTerminal, Screen } from './terminal.js'

const folder = t.testdir({ pictures: {}, broken: {}, many: {} })
const at = (...names: string[]): string => join(folder, ...names)
const ctrlC = '\u0003'
const random = new Random(22)
/** What a bar is drawn with. */
const bar = /[█░]/

/** A convolution and a pool: what is quantized, of a size that takes its time or does not. */
function classifier(side: number): Uint8Array {
  const graph = new GraphBuilder({ name: 'classifier', opset: 13 })
  const x = graph.input('images', 'float32', ['batch', 3, side, side])
  const weights = graph.constant('weights', Tensor.from(random.values(8 * 3 * 3 * 3, 0.2), [8, 3, 3, 3]))
  const convolved = graph.node('Conv', [x, weights], { pads: [1, 1, 1, 1] }, { name: 'conv' })
  const pooled = graph.node('GlobalAveragePool', [convolved], {}, { name: 'pool' })
  graph.output(graph.node('Flatten', [pooled], {}, { output: 'scores' }), 'float32', ['batch', 8])
  return writeModel(graph.toModel())
}

/** So many layers that their build takes seconds. */
function chain(layers: number): Uint8Array {
  const graph = new GraphBuilder({ name: 'chain' })
  let y = graph.input('x', 'float32', [1, 4, 16, 16])
  for (let i = 0; i < layers; i++) {
    const weights = graph.constant(`weights${i}`, Tensor.from(random.values(4 * 4 * 3 * 3, 1), [4, 4, 3, 3]))
    y = graph.node('Sigmoid', [graph.node('Conv', [y, weights], { pads: [1, 1, 1, 1] })])
  }
  graph.output(graph.node('Relu', [y]), 'float32', [1, 4, 16, 16])
  return writeModel(graph.toModel())
}

t.before(async () => {
  writeFileSync(at('colours.onnx'), colours())
  writeFileSync(at('faces.onnx'), await faceDetectorModel())
  writeFileSync(at('relu.onnx'), oneNode('Relu'))
  writeFileSync(at('cut.onnx'), oneNode('Relu').subarray(0, -9))
  writeFileSync(at('chain.onnx'), chain(1000))
  writeFileSync(at('small.onnx'), classifier(16))
  writeFileSync(at('large.onnx'), classifier(192))
  for (const [name, rgb] of [
    ['red.png', [255, 0, 0]],
    ['green.jpg', [0, 255, 0]],
    ['blue.png', [0, 0, 255]],
  ] as const) {
    const data = Uint8Array.from({ length: 48 * 48 * 3 }, (_, i) => rgb[i % 3]!)
    await writeImage({ width: 48, height: 48, channels: 3, data }, at('pictures', name))
  }
  cpSync(at('pictures'), at('broken'), { recursive: true })
  for (const name of ['red.png', 'green.jpg'])
    writeFileSync(at('broken', `cut-${name}`), readFileSync(at('pictures', name)).subarray(0, -40))
  for (let i = 0; i < 300; i++) cpSync(facePhoto(i % 2 === 0 ? 1 : 3), at('many', `${i}.jpg`))
})

/**
 * That it ended, by itself and with this code, and left the terminal as it was: no bar, a cursor, lines that wrap.
 * `surely`: what it did takes so long that there was a bar; what fails may do so before anything is done.
 */
function endedWell(t: Test, { code, written, screen }: OnTerminal, wanted: number, surely = true): void {
  t.equal(code, wanted, screen.text)
  t.same(screen.left, { cursor: true, wraps: true, column: 0 }, 'the terminal is as it was')
  if (surely) t.match(written, '\u001b[?25l', 'there was a bar')
  t.notMatch(screen.text, bar, 'and none is left')
}

t.test('what a terminal makes of control characters', async (t) => {
  const { text, left } = new Screen(
    '\u001b7\u001b[?25l\u001b[?7lone\u001b[1Gfour five\u001b[5G\u001b[0K\r\n\u001b[31mtwo\u001b[39m\u001b8x\u001b[2K\r',
  )
  t.same({ text, left }, { text: '\ntwo', left: { cursor: false, wraps: false, column: 0 } })
  t.equal(new Screen(`${'a'.repeat(81)}\r\nb`).text, `${'a'.repeat(81)}\nb`, 'a line that is wrapped is one')
  t.equal(new Screen(`${'a'.repeat(80)}\r\u001b[2Kb`).text, 'b')
  t.equal(new Screen(`\u001b[?7l${'a'.repeat(81)}b\r\n`).text, `${'a'.repeat(79)}b`)
  t.throws(() => new Screen('\u001b[2J'), /CSI 2J/)
})

t.test('run', async (t) => {
  const args = ['run', at('colours.onnx'), '--backend', 'cpu', '--preset', 'imagenet', '--top', '1']
  const table = (...rows: RegExp[]): RegExp =>
    new RegExp(['picture +class +score', ...rows.map(({ source }) => source)].join('\n') + '$')
  const rows = [/blue\.png +class 2 +0\.\d{4}/, /green\.jpg +class 1 +0\.\d{4}/, /red\.png +class 0 +0\.\d{4}/]

  await t.test('whole', async (t) => {
    const ended = await onTerminal([...args, at('pictures')])
    endedWell(t, ended, 0)
    t.match(ended.written, bar)
    t.match(ended.screen.text, table(...rows))
  })

  await t.test('two pictures that cannot be read: they are named, and the others are done', async (t) => {
    const ended = await onTerminal([...args, at('broken')])
    endedWell(t, ended, 1)
    t.match(ended.screen.text, /^error: .*cut-green\.jpg: .*\(ERR_TRT_IMAGE\)$/m)
    t.match(ended.screen.text, /^error: .*cut-red\.png: .*\(ERR_TRT_IMAGE\)$/m)
    t.match(ended.screen.text, table(...rows))
    const after = ended.written.slice(ended.written.lastIndexOf('ERR_TRT_IMAGE'))
    // it is drawn at once, and then ten times a second
    t.match(
      after,
      /classify +█+░* +(60|80|100) % (cut-red\.png|green\.jpg|red\.png)/,
      'the bar goes on from where it was',
    )
  })

  await t.test('ctrl-C: what is written is whole', async (t) => {
    mkdirSync(at('blurred'))
    const blur = [
      'run',
      at('faces.onnx'),
      at('many'),
      '--backend',
      'cpu',
      '--preset',
      'tiny-face-api',
      '--task',
      'blur',
      '-o',
      at('blurred'),
    ]
    const ended = await onTerminal(blur, { at: / [1-9]\d* % /, press: ctrlC })
    endedWell(t, ended, 130)
    t.match(ended.screen.text, /(^|\n)interrupted$/)
    const left = readdirSync(at('blurred'))
    t.ok(left.length > 0 && left.length < 300, `${left.length} of 300 were written`)
    for (const name of left) t.equal((await readImage(at('blurred', name))).channels, 3, `${name} is whole`)
  })
})

t.test('build', { skip: skipWithoutRtx }, async (t) => {
  const plans = (): string[] => readdirSync(folder).filter((name) => name.includes('.plan'))

  await t.test('whole', async (t) => {
    const ended = await onTerminal(['build', at('relu.onnx'), '-o', at('relu.plan')])
    endedWell(t, ended, 0)
    t.match(ended.screen.text, /^plan +[^]*relu\.plan,\s+[\d.]+ KiB$/m)
    t.match((await Plan.load(at('relu.plan'))).info.inputs, [{ name: 'x' }])
  })

  await t.test('a model that is cut off: it is named', async (t) => {
    const before = plans()
    const ended = await onTerminal(['build', at('cut.onnx'), '-o', at('cut.plan')])
    t.equal(ended.code, 1)
    t.same(ended.screen.left, { cursor: true, wraps: true, column: 0 })
    t.match(ended.screen.text, /^error: The ONNX model is damaged or truncated: .* \(ERR_TRT_ONNX_PARSE\)$/)
    t.same(plans(), before)
  })

  await t.test('ctrl-C: nothing is left of it', async (t) => {
    const before = plans()
    const ended = await onTerminal(['build', at('chain.onnx'), '-o', at('stopped.plan')], { at: bar, press: ctrlC })
    endedWell(t, ended, 130)
    t.match(ended.screen.text, /^interrupted$/)
    t.same(plans(), before)
  })
})

t.test('quantize', async (t) => {
  const args = (model: string, data: string): string[] => [
    'quantize',
    at(model),
    '--data',
    at(data),
    '--preset',
    'imagenet',
  ]
  const models = (): string[] => readdirSync(folder).filter((name) => name.includes('int8'))

  await t.test('whole', async (t) => {
    const ended = await onTerminal([...args('small.onnx', 'pictures'), '-o', at('int8.onnx')])
    endedWell(t, ended, 0)
    t.match(ended.screen.text, /measured on 3 batches/)
    t.match(inspectModel(await readModel(at('int8.onnx'))).operators, { QuantizeLinear: Number })
  })

  await t.test('images that cannot be read are skipped, and named once each', async (t) => {
    const ended = await onTerminal([...args('small.onnx', 'broken'), '-o', at('some-int8.onnx')])
    endedWell(t, ended, 0, false)
    for (const name of ['cut-green.jpg', 'cut-red.png'])
      t.equal(ended.screen.text.split(`${name}: `).length - 1, 1, `${name} is named once`)
    t.match(ended.screen.text, /measured on 3 batches/)
    t.same(models(), ['int8.onnx', 'some-int8.onnx'])
  })

  await t.test('no image can be read: the first is named, and nothing is begun', async (t) => {
    mkdirSync(at('all-broken'))
    cpSync(at('broken', 'cut-green.jpg'), at('all-broken', 'cut-green.jpg'))
    const ended = await onTerminal([...args('small.onnx', 'all-broken'), '-o', at('never-int8.onnx')])
    endedWell(t, ended, 2, false)
    t.match(ended.screen.text, /^error: .*cut-green\.jpg: .*\(ERR_TRT_IMAGE\)$/)
    t.same(models(), ['int8.onnx', 'some-int8.onnx'])
  })

  await t.test('ctrl-C: nothing is left of it', async (t) => {
    const ended = await onTerminal([...args('large.onnx', 'many'), '-o', at('never-int8.onnx')], {
      at: /measuring ranges/,
      press: ctrlC,
    })
    endedWell(t, ended, 130)
    t.match(ended.screen.text, /^interrupted$/)
    t.same(models(), ['int8.onnx', 'some-int8.onnx'])
  })
})
