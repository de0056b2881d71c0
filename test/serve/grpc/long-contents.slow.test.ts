// Contents of so many numbers that a thread makes bytes of them.
import t from 'tap'
import { longContents } from '../../../lib/kserve/tensor-contents.js'
import { encodeInferRequest } from '../../../lib/kserve/infer-request.js'
import { Writer } from '../../../lib/kserve/wire/writer.js'
import { Budget } from '../../../lib/serve/front/budget.js'
import { bytesOfTexts } from '../../../lib/base/packed-texts.js'
import { failureOf, inferPath, nothingLeft, parameters, request, type Rig, startRig } from './rig.js'

/** Counts what goes to the thread. */
function watched({ front }: Rig): { tasks: number } {
  const seen = { tasks: 0 }
  const contents = front.worker.contents.bind(front.worker)
  front.worker.contents = (task) => {
    seen.tasks++
    return contents(task)
  }
  return seen
}

const count = longContents
const numbers = Array.from({ length: count }, (_, i) => (i % 200) - 100)

t.test('the same bytes as of short ones, in a thread but for lists that are copied', async (t) => {
  await using rig = await startRig()
  const seen = watched(rig)
  const texts = Array.from({ length: count / 4 }, (_, i) => Buffer.from(`é${i}`))
  const cases = [
    ['int8', 'INT8', { int: numbers }, Buffer.from(Int8Array.from(numbers).buffer), 1],
    ['int64', 'INT64', { int64: numbers.map(BigInt) }, Buffer.from(BigInt64Array.from(numbers, BigInt).buffer), 1],
    ['bytes', 'BYTES', { bytes: texts }, Buffer.from(bytesOfTexts(texts)), 1],
    ['fp32', 'FP32', { fp32: numbers }, Buffer.from(Float32Array.from(numbers).buffer), 0],
  ] as const
  for (const [model, datatype, contents, bytes, tasks] of cases) {
    seen.tasks = 0
    const shape = [datatype === 'BYTES' ? texts.length : count]
    const answer = await rig.client.infer(request(model, [{ datatype, shape, contents }]))
    t.ok(bytes.equals(answer.rawOutputContents[0]!), datatype)
    t.equal(seen.tasks, tasks, datatype)
  }
  t.ok(await nothingLeft(rig))
})

t.test('in a stream, too', async (t) => {
  await using rig = await startRig()
  const stream = rig.client.stream()
  stream.send(
    request('int8', [{ datatype: 'INT8', shape: [count], contents: { int: numbers } }], undefined, { id: 'long' }),
  )
  t.match((await stream.count(1))[0], { errorMessage: '', inferResponse: { id: 'long' } })
  stream.call.end()
  t.equal((await stream.ended()).code, 0)
  t.ok(await nothingLeft(rig))
})

t.test('their faults have the texts of short ones', async (t) => {
  await using rig = await startRig()
  const seen = watched(rig)
  const int = [...numbers, 128]
  const shape = [int.length]
  const about = "'INPUT0' for model 'int8'"
  const shared = parameters({ shared_memory_region: { kind: 'string', value: 'x' } })
  const cases = {
    'out of range': [{ int }, /^Unable to parse 'contents': 128 in input 'INPUT0' is out of the range of INT8$/],
    'of another type': [{ uint: int.map(Math.abs) }, `unexpected explicit tensor data for input tensor ${about} of type 'UINT32', expected datatype 'INT8'`],
    'in two lists': [{ int: numbers, fp32: [1] }, `unexpected explicit tensor data for input tensor ${about}, binary data was already supplied.`],
    'too few': [{ int: numbers }, /input byte size mismatch/],
  } as const // prettier-ignore
  for (const [what, [contents, text]] of Object.entries(cases)) {
    const [code, told] = await failureOf(rig.client.infer(request('int8', [{ datatype: 'INT8', shape, contents }])))
    t.equal(code, 'INVALID_ARGUMENT', what)
    t.match(told, text, what)
  }
  t.equal(seen.tasks, 4)
  t.equal(
    (
      await failureOf(
        rig.client.infer(
          request('int8', [{ datatype: 'INT8', shape, contents: { int: numbers }, parameters: shared }]),
        ),
      )
    )[0],
    'UNIMPLEMENTED',
  )
  const both = request('int8', [{ datatype: 'INT8', shape, contents: { int } }], [Buffer.alloc(1)])
  t.match(
    (await failureOf(rig.client.infer(both)))[1],
    /^contents field must not be specified when using raw_input_contents/,
  )
  const damaged = encodeInferRequest(request('int8', [])).toBytes()
  const writer = new Writer()
  const input = writer.open(5)
  writer.text(1, 'INPUT0')
  writer.text(2, 'INT8')
  writer.tag(5, 2)
  writer.bytes(Buffer.concat([Buffer.from([0x12, 0x80, 0x80, 0x04]), Buffer.alloc(count, 0x80)]))
  writer.close(input)
  const [code, told] = await failureOf(rig.client.ask(inferPath, Buffer.concat([damaged, writer.take()])))
  t.equal(code, 'INVALID_ARGUMENT')
  t.match(told, /^The message has a list with a number of more than ten bytes$/)
  t.ok(await nothingLeft(rig))
})

t.test('what they become counts as in flight', async (t) => {
  const budget = new Budget(4 * count)
  await using rig = await startRig({ budget })
  const large = request('int64', [
    { datatype: 'INT64', shape: [count], contents: { int64: new Array<bigint>(count).fill(1n) } },
  ])
  t.equal((await failureOf(rig.client.infer(large)))[0], 'RESOURCE_EXHAUSTED', 'eight bytes of each byte')
  t.ok(await nothingLeft(rig))
  t.equal(budget.used, 0)
})
