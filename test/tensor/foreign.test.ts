import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import * as ort from 'onnxruntime-node'
import t from 'tap'
import { Tensor } from '../../lib/index.js'

/** What a value becomes on its way through postMessage. */
function posted(value: unknown): unknown {
  const { port1, port2 } = new MessageChannel()
  port1.postMessage(value)
  const { message } = receiveMessageOnPort(port2) as { message: unknown }
  port1.close()
  return message
}

t.test("onnxruntime's tensors become ours, over the same memory", (t) => {
  const data = Float32Array.of(1, 2, 3)
  const tensor = Tensor.from(new ort.Tensor('float32', data, [3, 1]))
  t.ok(Tensor.is(tensor))
  t.same([tensor.dtype, tensor.shape], ['float32', [3, 1]])
  t.equal(tensor.data, data)
  t.same(Tensor.from(new ort.Tensor('float32', data, [3, 1]), [1, 3]).shape, [1, 3], 'of another shape')
  t.throws(() => Tensor.from(new ort.Tensor('float32', data, [3, 1]), [2, 2]), { code: 'ERR_TRT_SHAPE' })
  t.equal(Tensor.from(new ort.Tensor('bool', [true, false], [2])).dtype, 'bool')
  t.equal(Tensor.from(new ort.Tensor('int64', BigInt64Array.of(5n), [1])).as('int64').data[0], 5n)
  t.same(Tensor.from(new ort.Tensor('string', ['a'], [1])).as('string').data, ['a'])
  t.throws(() => Tensor.from({ type: 'uint4', data: Uint8Array.of(1), dims: [1], location: 'cpu' } as never), {
    code: 'ERR_TRT_DTYPE',
    message: /Expected one of float32, .* for the data type of a tensor of onnxruntime but received string "uint4"/,
  })
  const own = [
    ['float64', Float64Array.of(0.1, NaN)],
    ['int16', Int16Array.of(-32768, 5)],
    ['uint16', Uint16Array.of(65535, 5)],
    ['uint32', Uint32Array.of(2 ** 32 - 1, 5)],
    ['uint64', BigUint64Array.of(2n ** 64n - 1n, 5n)],
  ] as const
  for (const [dtype, data] of own) {
    const found = Tensor.from(new ort.Tensor(dtype as 'float64', data as Float64Array, [2, 1]))
    t.same([found.dtype, found.shape], [dtype, [2, 1]])
    t.equal(found.data, data, `${dtype}: the same memory`)
    t.same(Tensor.from(posted(found) as typeof found), found, `${dtype}: through postMessage`)
  }
  const onDevice = {
    type: 'float32',
    dims: [1],
    get data(): never {
      throw new Error('not on the CPU')
    },
  }
  t.throws(() => Tensor.from(onDevice), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /cannot be read: not on the CPU/ })
  t.end()
})

t.test('a Tensor that came through postMessage becomes one again', (t) => {
  const lost = posted(Tensor.from(Float32Array.of(1, 2), [1, 2]))
  t.notOk(Tensor.is(lost))
  const found = Tensor.from(lost as { dtype: string; shape: number[]; data: unknown })
  t.same([found.dtype, found.shape, found.data], ['float32', [1, 2], Float32Array.of(1, 2)])
  t.same(Tensor.from(lost as { dtype: string; shape: number[]; data: unknown }, [2]).shape, [2], 'of another shape')
  t.throws(() => Tensor.from({ dtype: 'float32', shape: [3], data: Float32Array.of(1) }), { code: 'ERR_TRT_SHAPE' })
  t.throws(() => Tensor.from({ dtype: 'float32', shape: [1], data: Int8Array.of(1) }), { code: 'ERR_TRT_DTYPE' })
  t.end()
})

t.test('as: known to be of a data type, or an error that says both', (t) => {
  const tensor = Tensor.from(Float32Array.of(1))
  t.equal(tensor.as('float32'), tensor)
  t.throws(() => tensor.as('int8'), {
    code: 'ERR_TRT_DTYPE',
    message: 'Expected a tensor of int8 but this one is of float32',
    details: { expected: 'int8', received: 'float32' },
  })
  t.throws(() => tensor.as('double' as 'int8'), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.end()
})

t.test('views of the same memory where the array is of another type', (t) => {
  const clamped = Uint8ClampedArray.of(1, 2)
  const bytes = new Tensor('uint8', clamped, [2])
  t.equal(bytes.data.constructor, Uint8Array)
  clamped[0] = 9
  t.equal(bytes.data[0], 9)
  t.ok(bytes instanceof Tensor)
  t.notOk(Object.create(Tensor.prototype) instanceof Tensor)
  t.equal(Tensor.name, 'Tensor')
  t.equal(bytes.location, 'host')
  t.end()
})
