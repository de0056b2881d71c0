// Numbers in JSON arrive and leave as they are, or are refused.
import t from 'tap'
import { ask, binary, errorOf, inferJson, input, jsonOf, nothingLeft, startRig } from './rig.js'

const rig = await startRig()
t.teardown(() => rig.front.close())
const { port } = rig
const asText = (datatype: string, numbers: string): string =>
  `{"inputs":[{"name":"INPUT0","datatype":"${datatype}","shape":[${numbers.split(',').length}],"data":[${numbers}]}]}`

t.test('on the way in', async (t) => {
  const refused: readonly (readonly [datatype: string, number: string, text: RegExp])[] = [
    ['UINT8', '256', /256 in input 'INPUT0' is out of the range of UINT8: send it as binary data/],
    ['INT8', '-129', /-129 in input 'INPUT0' is out of the range of INT8/],
    ['UINT16', '65536', /out of the range of UINT16/],
    ['INT16', '32768', /out of the range of INT16/],
    ['UINT32', '4294967296', /out of the range of UINT32/],
    ['INT32', '-2147483649', /out of the range of INT32/],
    [
      'INT64',
      '9007199254740993',
      /a number in input 'INPUT0' is beyond 2\^53, where JSON may lose digits of INT64: send it as binary data/,
    ],
    ['INT64', '9007199254740992', /beyond 2\^53/],
    ['INT64', '-9223372036854775808', /beyond 2\^53/],
    ['UINT64', '18446744073709551615', /beyond 2\^53/],
    ['UINT64', '-1', /non-unsigned-integer as unsigned-integer/],
    ['INT64', '4503599627370497.5', /non-signed-integer as signed-integer/],
    ['INT64', '1.0000000000000000001', /non-signed-integer as signed-integer/],
    ['INT32', '1.0', /non-signed-integer as signed-integer/],
    ['INT32', '1e2', /non-signed-integer as signed-integer/],
    ['FP32', '1e39', /out of the range of FP32/],
    ['FP32', '-3.5e38', /out of the range of FP32/],
    ['FP64', '1e400', /out of the range of FP64/],
    ['FP32', '"1"', /non-number as double/],
    ['BOOL', '1', /non-boolean as boolean/],
    ['BYTES', '1', /non-string as string/],
    ['BYTES', '"\\ud83d"', /half of a surrogate pair/],
  ]
  for (const [datatype, number, text] of refused) {
    const reply = await inferJson(port, datatype.toLowerCase(), asText(datatype, number))
    t.equal(reply.status, 400, `${datatype} ${number}`)
    t.match(errorOf(reply), text)
  }
  t.same(
    jsonOf(await inferJson(port, 'int64', asText('INT64', '9007199254740991,-9007199254740991'))).outputs[0].data,
    [2 ** 53 - 1, 1 - 2 ** 53],
  )
  t.same(
    jsonOf(await inferJson(port, 'fp32', asText('FP32', '3.4028235e38,1e-45,1E2,0.1'))).outputs[0].data,
    [3.4028234663852886e38, 1.401298464324817e-45, 100, 0.10000000149011612],
  )
})

t.test('fractions in one tensor, whole numbers in another, and both in texts', async (t) => {
  const floats = '{"name":"INPUT0","datatype":"FP32","shape":[1,3],"data":[1.5,2,3e1]}'
  const body = (whole: string): string =>
    `{"id":"1.5 \\" e5 [","parameters":{"mine":1.5},"inputs":[${floats},{"name":"INPUT1","datatype":"INT32","shape":[1,3],"data":[${whole}]}]}`
  const reply = jsonOf(await inferJson(port, 'two', body('4,5,6')))
  t.same([reply.id, reply.outputs[0].data, reply.outputs[1].data], ['1.5 " e5 [', [1.5, 2, 30], [4, 5, 6]])
  t.match(errorOf(await inferJson(port, 'two', body('4,5.0,6'))), /non-signed-integer as signed-integer/)
})

t.test('on the way out', async (t) => {
  const shown = async (datatype: string, bytes: Uint8Array, count: number): Promise<string> => {
    const head = {
      inputs: [{ name: 'INPUT0', datatype, shape: [count], parameters: { binary_data_size: bytes.length } }],
    }
    const reply = await ask(port, binary(datatype.toLowerCase(), head, [bytes]))
    return reply.status === 200
      ? (/"data":\[([^\]]*)\]/.exec(reply.body.toString())?.[1] ?? '')
      : `${reply.status} ${errorOf(reply)}`
  }
  const of = (array: ArrayBufferView): Uint8Array => new Uint8Array(array.buffer)
  t.equal(
    await shown('INT64', of(BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n)), 2),
    '-9223372036854775808,9223372036854775807',
  )
  t.equal(await shown('UINT64', of(BigUint64Array.of(2n ** 64n - 1n)), 1), '18446744073709551615')
  t.equal(await shown('FP64', of(Float64Array.of(0.1, -0, 5e-324)), 3), '0.1,-0.0,5e-324')
  t.equal(await shown('FP32', of(Float32Array.of(-0, 0.1)), 2), '-0.0,0.10000000149011612')
  for (const [name, number] of [
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['-Infinity', -Infinity],
  ] as const) {
    const text = `400 output 'OUTPUT0' has ${name}, which JSON cannot hold: ask for it as binary data`
    t.equal(await shown('FP32', of(Float32Array.of(1, number)), 2), text)
    t.equal(await shown('FP64', of(Float64Array.of(1, number)), 2), text)
  }
  t.match(
    await shown('FP16', new Uint8Array(2), 1),
    '400 sending FP16 data via JSON is not supported. Please use the binary data format for output',
  )
  t.match(await shown('BYTES', Uint8Array.of(1, 0, 0, 0, 0xff), 1), /^400 output 'OUTPUT0' has bytes that are no text/)
  const runs = (): number => rig.control.servables.find(({ name }) => name === 'bf16')?.requests.length ?? -1
  const before = runs()
  t.match(await shown('BF16', new Uint8Array(2), 1), /^400 sending BF16/)
  t.equal(runs(), before, 'what cannot be sent is not computed')
  t.equal((await inferJson(port, 'int64', { inputs: [input('INT64', [1])] })).status, 200)
  t.ok(await nothingLeft(rig))
})
