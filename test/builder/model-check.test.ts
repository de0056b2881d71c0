// What is refused before TensorRT's parser sees it, since that crashes, or reads what it should not. With the real
// parser for what is allowed.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { Builder, Tensor } from '../../lib/index.js'
import { GraphBuilder, type ModelProto, writeModel } from '../../lib/onnx/index.js'
import { StringStringEntryProtoSchema, type TensorProto } from '../../lib/onnx/onnx_pb.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { rtxPath, skipWithoutRtx } from '../support/tensorrt.js'

const builder = new Builder(rtxPath === undefined ? {} : { tensorrt: { library: rtxPath } })

/** y = x + w */
function addition(change: (w: TensorProto, model: ModelProto) => void): Uint8Array {
  const graph = new GraphBuilder({ name: 'add' })
  const w = graph.constant('w', Tensor.from(Float32Array.of(1, 2, 3, 4), [1, 4]))
  graph.output(graph.node('Add', [graph.input('x', 'float32', [1, 4]), w], {}, { name: 'sum' }), 'float32', [1, 4])
  const model = graph.toModel()
  const [stored] = model.graph?.initializer ?? []
  if (stored === undefined) throw new Error('no initializer')
  change(stored, model)
  return writeModel(model)
}

const external = (location: string): Uint8Array =>
  addition((w) => {
    w.rawData = new Uint8Array()
    w.dataLocation = 1
    w.externalData = [create(StringStringEntryProtoSchema, { key: 'location', value: location })]
  })

const blocks = (operator: string, blocksize: bigint): Uint8Array => {
  const graph = new GraphBuilder({ name: 'blocks' })
  const x = graph.input('x', 'float32', [1, 4, 4, 4])
  graph.output(graph.node(operator, [x], { blocksize }, { name: 'blocks' }), 'float32', ['a', 'b', 'c', 'd'])
  return writeModel(graph.toModel())
}

t.test('weights are looked for in the folder of the model only', { skip: skipWithoutRtx }, async (t) => {
  const outside = temporaryFolder(t)
  const folder = join(outside, 'models')
  mkdirSync(join(folder, 'deeper'), { recursive: true })
  for (const path of ['secret.bin', 'models/weights.bin', 'models/deeper/weights.bin', 'models/..weights'])
    writeFileSync(join(outside, path), new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer))
  symlinkSync(join(outside, 'secret.bin'), join(folder, 'link.bin'))
  symlinkSync(outside, join(folder, 'up'))
  symlinkSync('weights.bin', join(folder, 'alias.bin'))
  const path = join(folder, 'model.onnx')
  for (const location of [
    'weights.bin',
    './weights.bin',
    'deeper/weights.bin',
    'deeper/../weights.bin',
    '..weights',
    'alias.bin',
  ]) {
    writeFileSync(path, external(location))
    t.equal((await builder.build(path)).info.network.weightBytes, 16, location)
  }
  const refused = [
    '../secret.bin',
    'deeper/../../secret.bin',
    join(outside, 'secret.bin'),
    join(folder, 'weights.bin'),
    '/etc/passwd',
  ]
  refused.push(
    '../../../../../../../../etc/passwd',
    'link.bin',
    'up/secret.bin',
    '',
    '.',
    '..',
    'none/../../secret.bin',
    'weights.bin\0',
  )
  for (const location of refused) {
    writeFileSync(path, external(location))
    const error = await failureOf(() => builder.build(path))
    const shown = location.replace('\0', '')
    t.match(
      error,
      {
        code: 'ERR_TRT_ONNX_PARSE',
        message: `keeps weights in the file "${shown}", which is`,
        details: { location: shown },
      },
      shown,
    )
  }
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 16\n`
  const lfs = { code: 'ERR_TRT_FILE', message: /is a Git LFS pointer.*git lfs pull/ }
  writeFileSync(join(folder, 'pointer.bin'), pointer)
  writeFileSync(path, external('pointer.bin'))
  t.match(await failureOf(() => builder.build(path)), { ...lfs, details: { path: join(folder, 'pointer.bin') } })
  writeFileSync(path, pointer)
  t.match(await failureOf(() => builder.build(path)), { ...lfs, details: { path } })
  t.match(await failureOf(() => builder.parse(Buffer.from(pointer))), lfs, 'its bytes too')
  t.match(
    await failureOf(() => builder.build(external('weights.bin'))),
    {
      code: 'ERR_TRT_ONNX_PARSE',
      message: /"weights\.bin", and was given as bytes.*give the path/,
      details: { location: 'weights.bin' },
    },
    'bytes lie in no folder',
  )
})

t.test('a stored tensor has as much as its shape says', { skip: skipWithoutRtx }, async (t) => {
  const rows: [what: string, change: (w: TensorProto) => void, message: RegExp][] = [
    [
      'a shape of 2³¹',
      (w) => (w.dims = [2n ** 31n]),
      /'w' of shape \[2147483648\] is stored with 16 bytes instead of 8589934592/,
    ],
    ['a shape beyond 2⁶⁴', (w) => (w.dims = [2n ** 62n, 2n ** 62n]), /is stored with 16 bytes$/],
    ['a negative shape', (w) => (w.dims = [-4n]), /shape \[-4\] is stored with 16 bytes$/],
    ['no elements', (w) => (w.dims = [0n]), /16 bytes instead of 0/],
    ['a byte less', (w) => (w.rawData = w.rawData.subarray(0, 15)), /15 bytes instead of 16/],
    ['nothing stored', (w) => (w.rawData = new Uint8Array()), /0 bytes instead of 16/],
    ['another type', (w) => (w.dataType = 11), /16 bytes instead of 32/],
    [
      'a list that is too short',
      (w) => {
        w.rawData = new Uint8Array()
        w.floatData = [1, 2, 3]
      },
      /3 elements instead of 4/,
    ],
  ]
  for (const [what, change, message] of rows)
    t.match(
      await failureOf(() => builder.build(addition(change))),
      { code: 'ERR_TRT_ONNX_PARSE', message, details: { tensor: 'w' } },
      what,
    )
  const inList = addition((w) => {
    w.rawData = new Uint8Array()
    w.floatData = [1, 2, 3, 4]
  })
  t.equal((await builder.build(inList)).info.network.weightBytes, 16, 'a list of the right length')
})

t.test('nodes that the parser would die of', { skip: skipWithoutRtx }, async (t) => {
  const noOutput = addition((_, model) => {
    for (const node of model.graph?.node ?? []) node.output = []
  })
  t.match(await failureOf(() => builder.build(noOutput)), {
    code: 'ERR_TRT_ONNX_PARSE',
    message: /the node 'sum' \(Add\) has no output/,
    details: { node: 'sum', operator: 'Add' },
  })
  for (const [operator, shape] of [
    ['DepthToSpace', [1, 1, 8, 8]],
    ['SpaceToDepth', [1, 16, 2, 2]],
  ] as const) {
    for (const size of [0n, -1n, 2n ** 32n, -(2n ** 63n)])
      t.match(await failureOf(() => builder.build(blocks(operator, size))), {
        code: 'ERR_TRT_ONNX_PARSE',
        message: RegExp(`blocksize of ${size}`),
      })
    t.same(
      (await builder.build(blocks(operator, 2n))).info.network.outputs.map(({ shape }) => shape),
      [shape],
      operator,
    )
  }
})

t.test('bytes that are no protobuf message', { skip: skipWithoutRtx }, async (t) => {
  const whole = addition(() => {})
  const rows: [string, Uint8Array, RegExp][] = [
    ['cut within a number', Uint8Array.of(8, 128), /a number goes beyond the end/],
    ['cut within a field', whole.subarray(0, whole.length - 1), /a field goes beyond the end/],
    ['a field of number 0', Uint8Array.of(0, 1), /impossible number/],
    [
      'a number of eleven bytes',
      Uint8Array.of(8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1),
      /more than ten bytes/,
    ],
    ['a group', Uint8Array.of(0x0b, 0x0c), /unknown kind/],
    ['messages 200 deep', deep(200), /more than 100 messages within each other/],
  ]
  for (const [what, bytes, message] of rows)
    t.match(await failureOf(() => builder.build(bytes)), { code: 'ERR_TRT_ONNX_PARSE', message }, what)
})

/** graph.node.attribute.g.node.attribute.g … */
function deep(levels: number): Uint8Array {
  let body: number[] = []
  const field = (tag: number, content: number[]): number[] => [
    tag,
    (content.length & 127) | 128,
    content.length >> 7,
    ...content,
  ]
  for (let i = 0; i < levels; i++)
    body = field(1 * 8 + 2, [...field(5 * 8 + 2, field(6 * 8 + 2, body)), 2 * 8 + 2, 1, 120])
  return Uint8Array.from(field(7 * 8 + 2, body))
}
