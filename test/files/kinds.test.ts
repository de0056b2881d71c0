// What a wrong file is called, by all that take a model, a plan or a picture.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ScalarType } from '@bufbuild/protobuf'
import t from 'tap'
import { firstTags, looksLikeOnnx, otherThan, type Wanted } from '../../lib/base/file-kinds.js'
import { Builder, Engine, inspect, Plan, Refitter } from '../../lib/index.js'
import { GraphBuilder, readModel, writeModel } from '../../lib/onnx/index.js'
import { ModelProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { Calibrator } from '../../lib/quantization/index.js'
import { Classifier, Detector, FaceBlur, Segmenter } from '../../lib/tasks/index.js'
import { readImage } from '../../lib/vision/index.js'
import { identityPlan } from '../fake/plan.js'
import { failureOf } from '../support/errors.js'

const graph = new GraphBuilder({ name: 'g' })
graph.output(graph.node('Relu', [graph.input('x', 'float32', [1])]), 'float32', [1])
const onnx = writeModel(graph.toModel())

t.test('the tags are those of the schema that fit in one byte', (t) => {
  const tags = ModelProtoSchema.fields.map((field) => {
    const isNumber = field.fieldKind === 'scalar' && field.scalar === ScalarType.INT64
    return field.number * 8 + (isNumber ? 0 : 2)
  })
  t.same([...firstTags].sort(), tags.filter((tag) => tag < 128).sort())
  t.end()
})

t.test('models, and what is none', (t) => {
  t.ok(looksLikeOnnx(onnx))
  for (const head of [[], [8], [0, 0], [0x70, 1], [0x66, 0x74, 0x72, 0x74], [...Buffer.from('not a model')]])
    t.notOk(looksLikeOnnx(Uint8Array.from(head)), head.join())
  t.end()
})

/** Bytes from hexadecimal digits, text, and zeros. */
const bytes = (...parts: readonly (string | number | Uint8Array)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.alloc(part) : Buffer.from(part as string))))
const hex = (digits: string): Buffer => Buffer.from(digits.replaceAll(' ', ''), 'hex')
const zip = (name: string): Buffer =>
  bytes(hex('504b0304 1400 0808 0000 00000000 00000000 00000000 00000000'), hex(`${name.length.toString(16).padStart(2, '0')}00 0000`), name, 50) // prettier-ignore
const box = (brand: string): Buffer => bytes(hex('00000020'), `ftyp${brand}`, 20)
const plan = Buffer.from(identityPlan([1]))

/** What each is called where a model is meant, and what to do; nothing where it is one, or nobody knows. */
const kinds: readonly (readonly [name: string, head: Uint8Array, told: RegExp | undefined])[] = [
  ['ONNX', onnx, undefined],
  ['unknown bytes', hex('deadbeef01020304'), undefined],
  ['nothing', hex(''), undefined],
  ['Git LFS', bytes('version https://git-lfs.github.com/spec/v1\noid sha256:0'), /^a Git LFS pointer.*git lfs pull$/],
  ['a plan', plan, /^a plan of TensorRT: give the ONNX model that it was built from/],
  ['a .pt', zip('archive/data.pkl'), /^a checkpoint of PyTorch \(zip\): export .* with torch\.onnx\.export$/],
  ['a TorchScript', zip('model/code/__torch__.py'), /^a checkpoint of PyTorch \(zip\)/],
  ['an old .pth', hex('80028a0a6cfc9c46f9206aa850192e'), /^a checkpoint of PyTorch \(pickle\): .*torch\.onnx\.export/],
  ['a pickle', hex('80049510000000'), /^a pickle of Python: /],
  ['an .npz', zip('arr_0.npy'), /^arrays of NumPy \(\.npz\): .* inputs$/],
  ['an .npy', hex('934e554d5059 0100'), /^an array of NumPy \(\.npy\): .* inputs$/],
  ['a zip', zip('model.onnx'), /^a zip archive: unpack it first$/],
  ['an empty zip', hex('504b0506'), /^a zip archive/],
  [
    'safetensors',
    bytes(hex('2800000000000000'), '{"__metadata__":{}}'),
    /^weights without a network \(safetensors\): /,
  ],
  ['TFLite', bytes(hex('1c000000'), 'TFL3', 20), /^a model of TFLite: .*--tflite/],
  ['a SavedModel', bytes(hex('080112 ffff03 0a350a'), 20), /^a SavedModel of TensorFlow: .*--saved-model/],
  ['a GraphDef', bytes(hex('0a2a 0a05'), 'input'), /^a graph of TensorFlow \(GraphDef\): .*--graphdef/],
  ['HDF5', bytes(hex('894844460d0a1a0a'), 20), /^a file of HDF5 \(Keras\): /],
  ['GGUF', bytes('GGUF', 20), /^a model of GGUF: /],
  ['PNG', hex('89504e470d0a1a0a'), /^a PNG picture: give the file of the model/],
  ['JPEG', hex('ffd8ffe000104a46'), /^a JPEG picture: /],
  ['GIF', bytes('GIF89a'), /^a GIF picture: /],
  ['WebP', bytes('RIFF', 4, 'WEBPVP8 '), /^a WebP picture: /],
  ['TIFF', hex('49492a0008000000'), /^a TIFF picture: /],
  ['AVIF', box('avif'), /^an AVIF picture: /],
  ['HEIC', box('heic'), /^a HEIC picture: /],
  ['BMP', bytes('BM', hex('64000000 00000000 36000000'), 40), /^a BMP picture: /],
  ['MP4', box('isom'), /^a video \(MP4\): .*trt video/],
  ['WebM', hex('1a45dfa39f428681'), /^a video \(Matroska or WebM\): /],
  ['AVI', bytes('RIFF', 4, 'AVI LIST'), /^a video \(AVI\): /],
  ['gzip', hex('1f8b080000000000'), /^a file of gzip: unpack it first$/],
  ['zstd', hex('28b52ffd04000000'), /^a file of zstd: /],
  ['bzip2', bytes('BZh91AY&SY'), /^a file of bzip2: /],
  ['xz', hex('fd377a585a000004'), /^a file of xz: /],
  ['7z', hex('377abcaf271c0004'), /^a 7z archive: /],
  ['tar', bytes('model.onnx', 247, 'ustar', 100), /^a tar archive: /],
  ['ELF', hex('7f454c4602010100'), /^a program or a library \(ELF\)$/],
  ['PDF', bytes('%PDF-1.7\n', hex('e2e3cfd3')), /^a PDF$/],
  ['HTML', bytes('\n<!DOCTYPE html>\n<html lang="en">'), /^a web page \(HTML\): the download failed/],
  ['XML', bytes('<?xml version="1.0"?><net name="resnet">'), /^XML: .*OpenVINO/],
  ['JSON', bytes('{"error": "Unauthorized"}'), /^JSON: /],
  ['text', bytes('Repository not found\nor private'), /^text that begins with "Repository not found"$/],
  ['text that begins as a model could', bytes('rate limit exceeded'), /^text that begins with "rate limit exceeded"$/],
  ['a long text', bytes('x'.repeat(600)), /^text that begins with "x{37}\.\.\."$/],
  ['a text that is cut within a letter', Buffer.from('€'.repeat(300)), /^text that begins with/],
]

t.test('each kind where a model is meant', (t) => {
  for (const [name, head, told] of kinds)
    if (told === undefined) t.equal(otherThan('model', head), undefined, name)
    else t.match(otherThan('model', head), told, name)
  t.end()
})

t.test('where something else is meant', (t) => {
  const of = (name: string): Uint8Array => kinds.find(([each]) => each === name)![1]
  const rows: [Wanted, string, RegExp | undefined][] = [
    ['plan', 'a plan', undefined],
    ['plan', 'ONNX', /^an ONNX model: trt build makes a plan of it, and Engine\.load\(\) takes it as it is$/],
    ['plan', 'a .pt', /torch\.onnx\.export/],
    ['plan', 'JSON', /beside a plan describes it/],
    ['picture', 'ONNX', /^an ONNX model: give it to load\(\), and a picture here$/],
    ['picture', 'a plan', /^a plan of TensorRT: give it to load\(\), and a picture here$/],
    ['picture', 'a .pt', /^a checkpoint of PyTorch \(zip\)$/],
    ['picture', 'MP4', /openVideo\(\)/],
    ['picture', 'HTML', /the download failed/],
  ]
  for (const [wanted, name, told] of rows) {
    const found = otherThan(wanted, of(name))
    if (told === undefined) t.equal(found, undefined, `${name} for a ${wanted}`)
    else t.match(found, told, `${name} for a ${wanted}`)
  }
  t.end()
})

/** Who takes a file, the code of its error, and what was meant. */
const takers: readonly (readonly [string, (source: string) => unknown, string, Wanted])[] = [
  ['Engine.load', (path) => Engine.load(path), 'ERR_TRT_MODEL_FORMAT', 'model'],
  ['Engine.load on the CPU', (path) => Engine.load(path, { backend: 'cpu' }), 'ERR_TRT_MODEL_FORMAT', 'model'],
  ['inspect', (path) => inspect(path), 'ERR_TRT_MODEL_FORMAT', 'model'],
  ['readModel', (path) => readModel(path), 'ERR_TRT_ONNX_PARSE', 'model'],
  ['Calibrator', (path) => new Calibrator([{}]).calibrate(path), 'ERR_TRT_ONNX_PARSE', 'model'],
  ['Builder.build', (path) => new Builder().build(path), 'ERR_TRT_ONNX_PARSE', 'model'],
  [
    'Builder.parse, isolated',
    (path) => new Builder({ isolation: 'process' }).parse(path),
    'ERR_TRT_ONNX_PARSE',
    'model',
  ],
  ['Plan.load', (path) => Plan.load(path), 'ERR_TRT_PLAN', 'plan'],
  ['Plan.inspect', (path) => Plan.inspect(path), 'ERR_TRT_PLAN', 'plan'],
  ['Refitter', (path) => new Refitter(path).weights(), 'ERR_TRT_MODEL_FORMAT', 'model'],
  ['Detector.load without a preset', (path) => Detector.load(path), 'ERR_TRT_MODEL_FORMAT', 'model'],
  ['Detector.load', (path) => Detector.load(path, { preset: 'yolov8' }), 'ERR_TRT_MODEL_FORMAT', 'model'],
  ['Classifier.load', (path) => Classifier.load(path), 'ERR_TRT_MODEL_FORMAT', 'model'],
  ['Segmenter.load', (path) => Segmenter.load(path), 'ERR_TRT_MODEL_FORMAT', 'model'],
  ['FaceBlur.load', (path) => FaceBlur.load(path), 'ERR_TRT_MODEL_FORMAT', 'model'],
  ['readImage', (path) => readImage(path), 'ERR_TRT_IMAGE', 'picture'],
]

t.test('all that take a file say the same', async (t) => {
  const folder = t.testdir({})
  for (const name of ['a .pt', 'HTML', 'text']) {
    const head = kinds.find(([each]) => each === name)![1]
    const path = join(folder, `${name}.onnx`)
    writeFileSync(path, head)
    for (const [taker, take, code, wanted] of takers) {
      const error = await failureOf(async () => take(path))
      t.match(error, { code }, `${taker}: ${name}`)
      t.ok(error.message.includes(otherThan(wanted, head)!), error.message)
      t.ok(error.message.includes(path), `${taker} names the file`)
    }
  }
})

t.test('a plan where a model is meant, a model where a plan is, and what is cut', async (t) => {
  const folder = t.testdir({ 'm.onnx': Buffer.from(onnx), 'm.plan': plan, 'cut.onnx': Buffer.from(onnx.subarray(0, onnx.length - 9)) }) // prettier-ignore
  const at = (name: string): string => join(folder, name)
  const rows: [string, () => unknown, string, RegExp][] = [
    ['Plan.load', () => Plan.load(at('m.onnx')), 'ERR_TRT_PLAN', /no plan of TensorRT: it is an ONNX model: trt build/],
    ['Plan of bytes', () => new Plan(onnx), 'ERR_TRT_PLAN', /it is an ONNX model: trt build/],
    [
      'Refitter',
      () => new Refitter(at('m.onnx')).weights(),
      'ERR_TRT_MODEL_FORMAT',
      /Expected a TensorRT plan .* but found ONNX/,
    ],
    ['readModel', () => readModel(at('m.plan')), 'ERR_TRT_ONNX_PARSE', /it is a plan of TensorRT: give the ONNX model/],
    ['bytes', () => readModel(plan), 'ERR_TRT_ONNX_PARSE', /it is a plan of TensorRT: give the ONNX model/],
    ['Builder', () => new Builder().build(at('m.plan')), 'ERR_TRT_ONNX_PARSE', /it is a plan of TensorRT: /],
    [
      'Builder of bytes',
      () => new Builder().build(plan),
      'ERR_TRT_ONNX_PARSE',
      /the model of \d+ bytes as ONNX: it is a plan/,
    ],
    ['readImage', () => readImage(at('m.onnx')), 'ERR_TRT_IMAGE', /it is an ONNX model: give it to load\(\)/],
    ['cut: readModel', () => readModel(at('cut.onnx')), 'ERR_TRT_ONNX_PARSE', /damaged or truncated: /],
    [
      'cut: Engine',
      () => Engine.load(at('cut.onnx'), { backend: 'cpu' }),
      'ERR_TRT_ONNX_PARSE',
      /damaged or truncated: /,
    ],
  ]
  for (const [name, call, code, message] of rows) t.match(await failureOf(async () => call()), { code, message }, name)
})
