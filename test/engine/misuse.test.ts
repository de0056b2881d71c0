import t from 'tap'
import { type AnyTensor, Engine, Tensor } from '../../lib/index.js'
import { infosByName, InputChecker, readInput } from '../../lib/engine/arguments.js'
import { identity, twoInTwoOut } from '../support/models.js'
import { detach } from '../support/values.js'

const cpu = { backend: 'cpu' } as const
type Row = [what: string, value: unknown, code: string, message: RegExp]

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

const argument = 'ERR_TRT_INVALID_ARGUMENT'

t.test('sources and options', (t) => {
  const source = identity()
  const rows: [string, unknown, unknown, RegExp][] = [
    ['no source', undefined, cpu, /Expected a path, a file: URL, bytes .* for source but received undefined/],
    ['a number', 42, cpu, /source but received number 42/],
    ['an empty path', '', cpu, /source but received string ""/],
    [
      'a web address',
      new URL('https://example.com/a.onnx'),
      cpu,
      /Expected a path or a file: URL for source but received string "https.*download it first/,
    ],
    [
      'a web address as text',
      'https://example.com/a.onnx',
      cpu,
      /received string "https:\/\/example.*download it first/,
    ],
    ['a bucket', 's3://models/a.onnx', cpu, /received string "s3:.*download it first/],
    ['another data URL', new URL('data:text/plain,x'), cpu, /a data: URL: decode it into a Buffer first/],
    [
      'a file: URL of another machine',
      new URL('file://elsewhere/a.onnx'),
      cpu,
      /Expected a file: URL of this machine .*host/i,
    ],
    ['the same as text', 'file://elsewhere/a.onnx', cpu, /Expected a file: URL of this machine .*host/i],
    [
      'a file: URL with a slash in a name',
      'file:///a%2Fb.onnx',
      cpu,
      /Expected a file: URL of this machine .*encoded/i,
    ],
    ['a malformed file: URL', 'file:///%', cpu, /Expected a file: URL of this machine .*URI/i],
    ['other numbers', new Float32Array(2), cpu, /source but received Float32Array/],
    ['null options', source, null, /Expected an object for the options of Engine but received null/],
    ['a string as options', source, 'cpu', /Expected an object for the options of Engine but received string "cpu"/],
    ['a misspelled option', source, { backnd: 'cpu' }, /Unknown option "backnd" for Engine: did you mean backend\?/],
    ['a part of an option, misspelled', source, { dimensoins: {} }, /did you mean freeDimensions\?/],
    ['an option in the wrong case', source, { Device: 0 }, /did you mean tensorrt\.device\?/],
    [
      "onnxruntime's word for the backend",
      source,
      { executionProviders: ['cuda'] },
      /Engine: backend: 'tensorrt', 'cpu'/,
    ],
    ["ultralytics' word for precision", source, { half: true }, /builder: \{ precision: 'fp16' \} \} is its place/],
    ['a word that is near to none', source, { wallpaper: 3 }, /"wallpaper" for Engine\. It knows/],
    ['a promise of a source', Promise.resolve(source), cpu, /source but received a Promise: await it/],
    ['an option of another thing', source, { ['x'.repeat(100_000)]: 0 }, /Unknown option "x+" for Engine/],
    [
      'an unknown backend',
      source,
      { backend: 'gpu' },
      /Expected one of 'auto', 'tensorrt', 'cpu' for backend but received string "gpu"/,
    ],
    [
      'a negative device',
      source,
      { tensorrt: { device: -1 } },
      /Expected the number of a GPU for tensorrt\.device but received number -1/,
    ],
    ['half a device', source, { tensorrt: { device: 0.5 } }, /received number 0.5/],
    [
      'an empty path of TensorRT',
      source,
      { tensorrt: { library: '' } },
      /Expected a path or a file: URL for tensorrt\.library/,
    ],
    [
      'a path in the place of the group',
      source,
      { tensorrt: '/lib' },
      /for tensorrt .*: the path is tensorrt\.library$/,
    ],
    ['shapes that are none', source, { shapes: 3 }, /Expected an object for shapes but received number 3/],
    ['no signal', source, { signal: {} }, /Expected an AbortSignal for signal but received Object/],
  ]
  for (const [what, from, options, message] of rows) {
    t.throws(() => new Engine(from as string, options as object), { code: argument, message }, what)
    void t.rejects(Engine.load(from as string, options as object), { code: argument, message }, what)
  }
  t.end()
})

t.test('a plan is never run on the CPU, and its shapes stand', async (t) => {
  const shapes = { x: { min: [1], opt: [1], max: [1] } }
  await t.rejects(Engine.load(Buffer.from('ftrt'), cpu), {
    code: argument,
    message: /is a TensorRT plan: only TensorRT runs it/,
  })
  await t.rejects(Engine.load(Buffer.from('vtrt'), { shapes }), {
    code: argument,
    message: /Leave out the option shapes/,
  })
})

t.test('inputs and options of infer', async (t) => {
  const a = new Tensor('float32', new Float32Array(6), [2, 3])
  const hostile = new Proxy(a, {})
  const forged = Object.create(Tensor.prototype) as Tensor
  const throwing = (): never => {
    throw new RangeError('mine')
  }
  const detached = new Tensor('float32', new Float32Array(6), [2, 3])
  detach(detached)
  const resizable = new (
    ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer & { resize(n: number): void }
  )(24, {
    maxByteLength: 24,
  })
  const shrunk = new Tensor('float32', new Float32Array(resizable), [2, 3])
  resizable.resize(12)

  const rows: Row[] = [
    [
      'nothing',
      undefined,
      argument,
      /Expected a Tensor or a record of Tensors for the input of infer but received undefined/,
    ],
    ['null', null, argument, /received null/],
    ['a number', 1, argument, /received number 1/],
    ['an array', [a, a], argument, /received array of 2/],
    ['a Map', new Map([['a', a]]), argument, /received Map: Object\.fromEntries\(map\) makes a record of it/],
    ['bare numbers', new Float32Array(6), argument, /received Float32Array/],
    [
      'a bare Tensor for two inputs',
      a,
      argument,
      /Expected a record of Tensors but received one Tensor: the model has the inputs "a", "b"/,
    ],
    [
      'a proxy of a Tensor',
      { a: hostile, b: a },
      argument,
      /Expected a Tensor for input "a" but received an object with the fields of a Tensor/,
    ],
    ['a forged Tensor', { a: forged, b: a }, argument, /Expected a Tensor for input "a"/],
    [
      'numbers in a record',
      { a: new Float32Array(6), b: a },
      argument,
      /Expected a Tensor for input "a" but received Float32Array/,
    ],
    ['an input undefined', { a, b: undefined }, argument, /Expected a Tensor for input "b" but received undefined/],
    [
      'an input too few',
      { a },
      'ERR_TRT_MISSING_INPUT',
      /Input "b" \(float32 \[-1, 3\]\) is missing: the model has the inputs "a", "b"/,
    ],
    ['an inherited input', Object.create({ a, b: a }), 'ERR_TRT_MISSING_INPUT', /Input "a"/],
    [
      'an input too many',
      { a, b: a, c: a },
      'ERR_TRT_UNKNOWN_INPUT',
      /The model has no input "c": it has the inputs "a", "b"/,
    ],
    [
      'an unknown input named __proto__',
      { a, b: a, ['__proto__']: a },
      'ERR_TRT_UNKNOWN_INPUT',
      /no input "__proto__"/,
    ],
    [
      'another data type',
      { a, b: new Tensor('int32', new Int32Array(6), [2, 3]) },
      'ERR_TRT_DTYPE',
      /Expected float32 for input "b" but received int32/,
    ],
    [
      'another rank',
      { a, b: a.reshape([6]) },
      'ERR_TRT_SHAPE',
      /Expected shape \[-1, 3\] \(-1: any size\) for input "b" but received \[6\]/,
    ],
    ['another fixed dimension', { a, b: a.reshape([3, 2]) }, 'ERR_TRT_SHAPE', /received \[3, 2\]/],
    ['a detached buffer', { a, b: detached }, 'ERR_TRT_DETACHED', /Expected 24 bytes behind input "b" but found 0/],
    ['a shrunk buffer', { a, b: shrunk }, 'ERR_TRT_DETACHED', /behind input "b" but found 12/],
  ]
  const engine = await Engine.load(twoInTwoOut(), cpu)
  for (const [what, input, code, message] of rows)
    await t.rejects(engine.infer(input as Tensor), { code, message }, what)

  const getter = { a, get b() { return throwing() } } // prettier-ignore
  const proxy = new Proxy({ a, b: a }, { ownKeys: throwing })
  for (const input of [getter, proxy])
    await t.rejects(engine.infer(input as Record<string, Tensor>), new RangeError('mine'), "the user's own error")
  const late = { get a() { detach(gone); return a }, get b() { return gone } } // prettier-ignore
  const gone = new Tensor('float32', new Float32Array(6), [2, 3])
  await t.rejects(engine.infer(late), { code: 'ERR_TRT_DETACHED' }, 'a getter that detaches another input')

  const options: Row[] = [
    ['null', null, argument, /Expected an object for the options of infer but received null/],
    ['a misspelled option', { timeout: 5 }, argument, /Unknown option "timeout" for infer: did you mean timeoutMs\?/],
    ['no signal', { signal: 'stop' }, argument, /Expected an AbortSignal for signal/],
    ...[0, -1, NaN, Infinity, 2 ** 31, '5', 5n].map((timeoutMs): Row => [
      'a timeout',
      { timeoutMs },
      argument,
      /Expected milliseconds above 0 and at most 2147483647 for timeoutMs/,
    ]),
  ]
  for (const [what, given, code, message] of options)
    await t.rejects(engine.infer({ a, b: a }, given as object), { code, message }, what)
  await t.rejects(
    (engine.infer as (input: unknown) => unknown).call({}, { a, b: a }) as Promise<unknown>,
    TypeError,
    'a wrong this',
  )
  t.throws(() => Object.getOwnPropertyDescriptor(Engine.prototype, 'inputs')?.get?.call({}), TypeError)
  t.same((await engine.infer({ a, b: a })).sum?.shape, [2, 3], 'the engine works as before')
  await engine.close()
})

t.test('shared and resizable memory, Buffers and clamped bytes are taken', async (t) => {
  await using engine = await Engine.load(identity('uint8', ['N']), cpu)
  const shared = new Uint8Array(new SharedArrayBuffer(2)).fill(3)
  for (const data of [Buffer.from([3, 3]), shared, new Uint8ClampedArray([3, 3])]) {
    t.same((await engine.infer(new Tensor('uint8', data, [2]))).as('uint8').data, Uint8Array.of(3, 3))
  }
})

t.test('optimization profiles: one has to fit all inputs', (t) => {
  const profile = (min: number[], max: number[]): { min: number[]; opt: number[]; max: number[] } => ({
    min,
    opt: min,
    max,
  })
  const dynamic = { dtype: 'float32', shape: [-1, 2], format: 'linear' } as const
  const infos = infosByName([
    { ...dynamic, name: 'a', profiles: [profile([1, 2], [4, 2]), profile([8, 2], [16, 2])] },
    { ...dynamic, name: 'b', profiles: [profile([1, 2], [4, 2]), profile([8, 2], [16, 2])] },
    { name: 's', dtype: 'int32', shape: [], profiles: [], format: 'linear' },
  ])
  const input = (a: number, b: number): object => ({
    a: Tensor.zeros('float32', [a, 2]),
    b: Tensor.zeros('float32', [b, 2]),
    s: Tensor.zeros('int32', []),
  })
  const check = (a: number, b: number): AnyTensor[] => new InputChecker(infos).check(readInput(input(a, b)))
  t.same(
    check(1, 4).map((tensor) => tensor.shape),
    [[1, 2], [4, 2], []],
    'in the order of the model',
  )
  t.ok(check(16, 8))
  const ranges =
    /within profile 0: \[1, 2\] to \[4, 2\], profile 1: \[8, 2\] to \[16, 2\] for input "b" but received \[5, 2\]/
  t.throws(() => check(1, 5), { code: 'ERR_TRT_SHAPE', message: ranges })
  t.throws(() => check(4, 8), {
    code: 'ERR_TRT_SHAPE',
    message: /No optimization profile fits all inputs together: "a" \[4, 2\] \(allowed: profile 0/,
  })
  t.throws(() => readInput(5), { code: argument })
  const none = infosByName([])
  t.same(new InputChecker(none).check(readInput({})), [])
  t.throws(() => new InputChecker(none).check(Tensor.zeros('int8', [])), {
    code: argument,
    message: /the model has no inputs/,
  })
  t.end()
})
