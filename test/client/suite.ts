// What a client does, whatever it speaks and whoever answers: run against our server, against a stand-in, and against a
// real Triton.
import type { Test } from 'tap'
import type { InferenceClient, InferInputs, Shaped, Classification } from '../../lib/client/index.js'
import { Tensor, type DType, type TypedData } from '../../lib/index.js'

export interface Target {
  readonly client: InferenceClient
  /** The server has models of all types, such as `ident_int64`. */
  readonly hasTypes: boolean
  /** A model `ident_string` of texts. */
  readonly hasTexts: boolean
  /** A model `cls` with labels. */
  readonly hasClasses: boolean
  /** Its requests may be JSON. */
  readonly hasJson: boolean
  /** Another model that can be loaded and unloaded. */
  readonly spare: string
  /** What a request for an unknown model is answered with. */
  readonly unknownModel: number | string
}

interface Sample {
  readonly model: string
  readonly tensor: Tensor
}

const sample = (model: string, data: TypedData | Tensor): Sample => ({
  model,
  tensor: Tensor.is(data) ? data : Tensor.from(data, [1, data.length]),
})
const raw = (dtype: DType, data: Uint16Array | Uint8Array): Tensor =>
  new Tensor(dtype as 'bool', data as Uint8Array, [1, data.length])

const float32 = sample('ident', new Float32Array([0, -0, 1.5, -1e-40, 3.4e38]))
const ofTypes: readonly Sample[] = [
  sample('ident_int64', new BigInt64Array([0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)])),
  sample('ident_uint8', new Uint8Array([0, 1, 255])),
  sample('ident_bool', raw('bool', new Uint8Array([1, 0, 1]))),
  sample('ident_fp16', raw('float16', new Uint16Array([0x3c00, 0xfc00, 0x8000]))),
  sample('ident_fp64', new Float64Array([Math.PI, Number.MIN_VALUE, -Number.MAX_VALUE])),
]

export function behaves(t: Test, name: string, open: () => Promise<Target>): void {
  t.test(name, async (t) => {
    const target = await open()
    const { client } = target
    t.teardown(() => client.close())
    await health(t, target)
    await inferences(t, target)
    await answers(t, target)
    if (target.hasTexts) await texts(t, client)
    if (target.hasClasses) await classes(t, client)
    if (target.hasJson) await json(t, target)
    await failures(t, target)
    await repository(t, target)
    await client.close()
    await t.rejects(client.infer('ident', { INPUT0: float32.tensor }), { code: 'ERR_TRT_CLOSED' }, 'closed')
    await client.close()
  })
}

async function health(t: Test, { client }: Target): Promise<void> {
  t.equal(await client.isLive(), true)
  t.equal(await client.isReady(), true)
  t.equal(await client.isModelReady('ident'), true)
  t.equal(await client.isModelReady('ident', { version: 1 }), true)
  t.equal(await client.isModelReady('none'), false)
  t.match(await client.serverMetadata(), {
    name: String,
    version: String,
    extensions: ['model_repository'].length > 0 ? Array : null,
  })
  t.match(await client.modelMetadata('ident'), {
    name: 'ident',
    versions: ['1'],
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1, -1] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [-1, -1] }],
  })
  t.match(await client.modelConfig('ident'), {
    name: 'ident',
    max_batch_size: 8,
    input: [{ name: 'INPUT0', dims: [-1] }],
  })
}

async function inferences(t: Test, { client, hasTypes }: Target): Promise<void> {
  for (const { model, tensor } of [float32, ...(hasTypes ? ofTypes : [])]) {
    const { OUTPUT0: output } = await client.infer(model, { INPUT0: tensor })
    t.equal(output?.dtype, tensor.dtype, model)
    t.strictSame(output?.shape, tensor.shape, model)
    t.strictSame(output?.data, tensor.data, `${model}: each element, with the sign of zero`)
    t.ok(Tensor.is(output), 'a genuine Tensor')
  }
  const large = Tensor.from(
    Float32Array.from({ length: 150_528 }, (_, i) => i),
    [1, 150_528],
  )
  for (const round of [1, 2])
    t.strictSame((await client.infer('ident', { INPUT0: large }))['OUTPUT0']?.data, large.data, `602 KB, ${round}`)
  const all = await Promise.all(
    Array.from(
      { length: 20 },
      async (_, i) =>
        (await client.infer('ident', { INPUT0: Tensor.from(new Float32Array([i]), [1, 1]) }))['OUTPUT0']?.data[0],
    ),
  )
  t.strictSame(
    all,
    Array.from({ length: 20 }, (_, i) => i),
    'twenty at once',
  )
  const empty = Tensor.zeros('float32', [1, 0])
  t.strictSame((await client.infer('ident', { INPUT0: empty }))['OUTPUT0']?.shape, [1, 0], 'without elements')
}

async function answers(t: Test, { client }: Target): Promise<void> {
  const options = {
    id: 'é"1',
    version: '1',
    outputs: ['OUTPUT0'],
    parameters: { mine: 'x', count: 2, big: 2n ** 52n, yes: true },
  }
  const answer = await client.answer('ident', { INPUT0: float32.tensor }, options)
  t.match(answer, { id: 'é"1', model: 'ident', version: '1' })
  t.strictSame(Object.keys(answer.outputs), ['OUTPUT0'])
  t.strictSame(answer.outputs['OUTPUT0']?.data, float32.tensor.data)
  const before = (await client.statistics('ident'))[0]?.inference_count ?? 0
  await client.infer('ident', { INPUT0: float32.tensor }, { priority: 0 })
  const [after] = await client.statistics('ident', { version: '1' })
  t.equal(after?.inference_count, before + 1)
  t.equal(typeof after?.inference_stats.success.count, 'number')
  t.ok(
    (await client.statistics()).some(({ name }) => name === 'ident'),
    'of all models',
  )
}

async function texts(t: Test, client: InferenceClient): Promise<void> {
  const words = ['', 'ein Wörtchen', '\u0000', '🐈'.repeat(100)]
  const { OUTPUT0: strings } = await client.infer<{ OUTPUT0: Shaped<string> }>(
    'ident_string',
    { INPUT0: { shape: [1, 4], data: words } },
    { texts: 'utf8' },
  )
  t.strictSame([...strings], words)
  t.strictSame(strings.shape, [1, 4])
  const bytes = [Uint8Array.of(255, 0, 254), Uint8Array.of()]
  const inputs: InferInputs = { INPUT0: { shape: [1, 2], data: bytes } }
  const { OUTPUT0: same } = await client.infer<{ OUTPUT0: Shaped<Uint8Array> }>('ident_string', inputs)
  t.strictSame(
    same.map((one) => [...one]),
    bytes.map((one) => [...one]),
  )
  const { OUTPUT0: again } = await client.infer<{ OUTPUT0: Shaped<Uint8Array> }>('ident_string', { INPUT0: same })
  t.strictSame(again.shape, [1, 2], 'an output is an input')
  await t.rejects(client.infer('ident_string', inputs, { texts: 'utf8' }), {
    code: 'ERR_TRT_SERVER',
    message: /no UTF-8/,
  })
}

async function classes(t: Test, client: InferenceClient): Promise<void> {
  const scores = Tensor.from(new Float32Array([0.5, -1, 2, 0.25, 1, 2, 3, 4]), [2, 4])
  type Best = { OUTPUT0: Shaped<Classification> }
  for (const options of [{ classification: { OUTPUT0: 2 } }, { classification: 2, outputs: ['OUTPUT0'] }]) {
    const { OUTPUT0: best } = await client.infer<Best>('cls', { INPUT0: scores }, options)
    t.strictSame(best.shape, [2, 2])
    t.strictSame(
      best.map(({ value, index }) => [value, index]),
      [
        [2, 2],
        [0.5, 0],
        [4, 3],
        [3, 2],
      ],
    )
    t.ok(
      best.every(({ label }) => typeof label === 'string' && label !== ''),
      'labels',
    )
  }
}

async function json(t: Test, { client, hasTypes }: Target): Promise<void> {
  const { OUTPUT0: output } = await client.infer('ident', { INPUT0: float32.tensor }, { encoding: 'json' })
  t.strictSame(output?.data, float32.tensor.data)
  if (!hasTypes) return
  for (const { model, tensor } of ofTypes) {
    if (tensor.dtype === 'float16') {
      await t.rejects(client.infer(model, { INPUT0: tensor }, { encoding: 'json' }), {
        code: 'ERR_TRT_DTYPE',
        message: /float16/,
      })
      continue
    }
    const small = tensor.dtype === 'int64' ? Tensor.from(new BigInt64Array([0n, -1n, 2n ** 53n - 1n]), [1, 3]) : tensor
    const { OUTPUT0: same } = await client.infer(model, { INPUT0: small }, { encoding: 'json' })
    t.strictSame(same?.data, small.data, `${model} as JSON`)
  }
}

async function failures(t: Test, { client, unknownModel }: Target): Promise<void> {
  const inputs = { INPUT0: float32.tensor }
  const refused = { code: 'ERR_TRT_SERVER', details: { status: unknownModel, model: 'none', sent: true } }
  await t.rejects(client.infer('none', inputs), { ...refused, message: /unknown model: 'none'/ }, 'an unknown model')
  await t.rejects(client.modelMetadata('none'), { code: 'ERR_TRT_SERVER' })
  await t.rejects(client.infer('ident', inputs, { signal: AbortSignal.abort(new Error('no')) }), { message: 'no' })
  const controller = new AbortController()
  const running = client.infer('ident', inputs, { signal: controller.signal })
  controller.abort(new Error('stopped'))
  await t.rejects(running, { message: 'stopped' })
  t.strictSame(
    (await client.infer('ident', inputs, { signal: new AbortController().signal, timeoutMs: 60_000 }))['OUTPUT0']?.data,
    float32.tensor.data,
  )
}

async function repository(t: Test, { client, spare }: Target): Promise<void> {
  t.ok(
    (await client.repositoryIndex()).some(({ name }) => name === spare),
    'all',
  )
  await client.load(spare)
  t.equal(await client.isModelReady(spare), true)
  t.ok((await client.repositoryIndex({ ready: true })).some(({ name, state }) => name === spare && state === 'READY'))
  await client.unload(spare, { dependents: true })
  t.equal(await client.isModelReady(spare), false)
  t.notOk(
    (await client.repositoryIndex({ ready: true })).some(({ name, state }) => name === spare && state === 'READY'),
  )
  await t.rejects(client.load('none'), { code: 'ERR_TRT_SERVER', message: /none/ })
  await t.rejects(client.load(spare, { config: 'no JSON' }), { code: 'ERR_TRT_SERVER' })
  await client.load(spare)
}
