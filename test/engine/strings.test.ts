// Tensors of texts: both ways of the CPU, beside what onnxruntime-node itself gives, and where they are refused.
import * as ort from 'onnxruntime-node'
import t, { type Test } from 'tap'
import { Engine, Tensor, type TensorLike } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { bytesOfTensor } from '../../lib/tensor.js'
import { failureOf } from '../support/errors.js'
import { identity } from '../support/models.js'
import { onEachWay } from './ways.js'

const cpu = { backend: 'cpu' } as const

/** Texts and their shape. */
const cases: Record<string, { texts: string[]; shape: number[] }> = {
  two: { texts: ['a', 'b'], shape: [2] },
  'empty ones': { texts: ['', 'x', '', ''], shape: [4] },
  none: { texts: [], shape: [0] },
  'beyond the BMP': { texts: ['😀', 'naïve', '漢字', '\u{10ffff}', '\ufeffmark'], shape: [5] },
  'a large one': { texts: ['é'.repeat(300_000), 'end'], shape: [2] },
  many: { texts: Array.from({ length: 20_000 }, (_, i) => `text ${i}`), shape: [20_000] },
  'lone surrogates': { texts: ['a\ud800b', '\udc00'], shape: [2] },
}

/** y = x, computed: an Identity that is not left out. */
function doubled(): Uint8Array {
  const g = new GraphBuilder({ name: 'texts', opset: 20 })
  g.output(g.node('Concat', [g.input('x', 'string', ['N']), 'x'], { axis: 0 }, { output: 'y' }), 'string', ['M'])
  return writeModel(g.toModel())
}

/** number = the number that a text says, and text = the text of a number. */
function casts(): Uint8Array {
  const g = new GraphBuilder({ name: 'casts', opset: 20 })
  const [words, x] = [g.input('words', 'string', ['N']), g.input('x', 'float32', ['N'])]
  g.output(g.node('Cast', [words], { to: 1 }, { output: 'number' }), 'float32', ['N'])
  g.output(g.node('Cast', [x], { to: 8 }, { output: 'text' }), 'string', ['N'])
  return writeModel(g.toModel())
}

onEachWay('texts come back as onnxruntime-node gives them', async (t) => {
  for (const [kind, model] of Object.entries({ identity: identity('string', ['N']), concat: doubled() })) {
    await using engine = await Engine.load(model, { ...cpu, inputs: { x: 'string' }, outputs: { y: 'string' } })
    const session = await ort.InferenceSession.create(model)
    for (const [name, { texts, shape }] of Object.entries(cases)) {
      const [x, { y: theirs }] = [
        new Tensor('string', texts, shape),
        await session.run({ x: new ort.Tensor('string', texts, shape) }),
      ]
      const { y } = await engine.infer({ x })
      const same = y.data.length === theirs?.data.length && y.data.every((text, i) => text === theirs.data[i])
      t.ok(same, `${kind}: ${name}`)
      t.same([y.dtype, y.shape], ['string', theirs?.dims], `${kind}: the shape of ${name}`)
    }
    await session.release()
  }
})

onEachWay('texts beside numbers, several at once, and a NUL within one', async (t, way) => {
  await using engine = await Engine.load(casts(), cpu)
  t.same(engine.unsupported, [])
  t.same([engine.inputs['words']?.dtype, engine.outputs['text']?.dtype], ['string', 'string'])
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => {
      const words = new Tensor('string', [String(i), '1.5'], [2])
      return engine.infer({ words, x: Tensor.from(Float32Array.of(i, -2)) })
    }),
  )
  answers.forEach(({ number, text }, i) => {
    t.same([number?.data, text?.data], [Float32Array.of(i, 1.5), [String(i), '-2']])
  })
  await using same = await Engine.load(identity('string', ['N']), cpu)
  const cut = (await same.infer(new Tensor('string', ['a\0b'], [1]))).data
  t.same(cut, way === 'addon' ? ['a\0b'] : ['a'], 'the binding of onnxruntime-node ends a text at a NUL')
  await same.warmup({ shapes: { x: [2] } })
})

t.test('a scalar, more dimensions, two lanes, sync, and a wish for one output only', async (t) => {
  await using engine = await Engine.load(identity('string', ['N', 'M']), { ...cpu, lanes: 2 })
  const x = new Tensor('string', ['a', 'b', 'c', 'd', 'e', 'f'], [2, 3])
  const y = engine.inferSync(x)
  t.same([y.shape, y.data], [[2, 3], x.data])
  t.ok(Object.isFrozen(y.data))
  const all = await Promise.all(Array.from({ length: 100 }, () => engine.infer(x)))
  t.ok(all.every(({ data }) => data.length === 6 && data[5] === 'f'))
  await using scalar = await Engine.load(identity('string', []), cpu)
  t.same((await scalar.infer(new Tensor('string', ['one'], []))).data, ['one'])
  await using some = await Engine.load(casts(), cpu)
  const given = { words: new Tensor('string', ['3'], [1]), x: Tensor.from(Float32Array.of(1)) }
  t.same(Object.keys(await some.infer(given, { outputs: ['text'] })), ['text'])
  t.same((await some.infer(given, { outputs: ['number'], location: 'device' }))['number']?.location, 'device')
})

/** Each with the code of its error and what the message says. */
const refusals: Record<string, [(engine: Engine) => unknown, string, RegExp]> = {
  'numbers for texts': [
    (e) => e.infer(Tensor.from(Float32Array.of(1))),
    'ERR_TRT_DTYPE',
    /Expected string for input "x"/,
  ],
  into: [
    (e) => e.infer({ x: new Tensor('string', ['a'], [1]) }, { into: { y: new Tensor('string', ['b'], [1]) } }),
    'ERR_TRT_DTYPE',
    /outputs of numbers in into but "y" is of string/,
  ],
  'location device': [
    (e) => e.infer(new Tensor('string', ['a'], [1]), { location: 'device' }),
    'ERR_TRT_DTYPE',
    /outputs of numbers in location but "y" is of string/,
  ],
  allocate: [(e) => e.allocate('x', [2]), 'ERR_TRT_DTYPE', /"x" is of string: texts have no memory to share/],
  upload: [(e) => e.upload(new Tensor('string', ['a'], [1])), 'ERR_TRT_DTYPE', /Expected a tensor of numbers/],
  released: [(e) => e.released(new Tensor('string', ['a'], [1])), 'ERR_TRT_DTYPE', /Expected a tensor of numbers/],
}

t.test('what texts cannot do is refused by name', async (t) => {
  await using engine = await Engine.load(identity('string', ['N']), cpu)
  for (const [name, [use, code, message]] of Object.entries(refusals))
    t.match(await failureOf(async () => use(engine)), { code, message }, name)
  t.match(await failureOf(() => Engine.load(identity('string', ['N']), { ...cpu, batching: { maxBatch: 4 } })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /Batching needs elements of one size, but 'x' is string \[-1\]/,
  })
})

t.test('a tensor of texts', (t) => {
  const texts = ['a', '😀', '']
  const tensor = new Tensor('string', texts, [3])
  texts[0] = 'changed'
  t.same(tensor.data, ['a', '😀', ''], 'a copy, frozen')
  t.equal(tensor.byteLength, 3 * 4 + 1 + 4)
  t.same(Tensor.fromBytes('string', Buffer.from(bytesOfTensor(tensor)), [3]).data, tensor.data)
  t.same(Tensor.from(JSON.parse(JSON.stringify(tensor)) as TensorLike).data, tensor.data)
  t.same(Tensor.from(new ort.Tensor('string', ['x'], [1]) as TensorLike).data, ['x'], 'of onnxruntime')
  t.same(tensor.clone().data, tensor.data)
  t.same(tensor.reshape([1, 3]).shape, [1, 3])
  t.same(Tensor.zeros('string', [2]).data, ['', ''])
  wrong(t)
  t.end()
})

function wrong(t: Test): void {
  const refused: [() => unknown, string, RegExp][] = [
    [
      () => new Tensor('string', [1] as never, [1]),
      'ERR_TRT_INVALID_ARGUMENT',
      /a string for data\[0\] of a string tensor/,
    ],
    [() => new Tensor('string', [['a']] as never, [1]), 'ERR_TRT_INVALID_ARGUMENT', /nested arrays are not taken/],
    [() => new Tensor('string', ['a'], [2]), 'ERR_TRT_SHAPE', /Expected 2 texts of data .* but received 1/],
    [() => new Tensor('string', new Uint8Array(1) as never, [1]), 'ERR_TRT_INVALID_ARGUMENT', /an array of strings/],
    [() => new Tensor('string', ['a'], [1]).toFloat32(), 'ERR_TRT_DTYPE', /texts are no numbers/],
    [() => Tensor.fromBytes('string', Buffer.of(1, 0, 0, 0), [1]), 'ERR_TRT_SHAPE', /bytes that end within one/],
    [() => Tensor.fromBytes('string', Buffer.of(1, 0, 0, 0, 0xff), [1]), 'ERR_TRT_INVALID_ARGUMENT', /Expected UTF-8/],
  ]
  for (const [make, code, message] of refused) t.throws(make, { code, message })
}
