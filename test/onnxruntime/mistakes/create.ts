// Models that are none, and arguments of create() that are wrong.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { GraphBuilder, writeModel } from '../../../lib/onnx/index.js'
import { foreignInput, identity, oneNode } from '../../support/models.js'
import type { Name, Row } from './table.js'

const model = identity()
const buffer = new Uint8Array(model).buffer

/** What is no model, by its name; create() says that it takes a path or bytes. */
const sources: Record<string, unknown> = {
  undefined,
  null: null,
  'a number': 1,
  'a boolean': true,
  'a bigint': 1n,
  'a symbol': Symbol('model'),
  'a function': () => model,
  'an object': {},
  'an array of bytes': [...model],
  'a Map': new Map(),
  'a Promise of bytes': Promise.resolve(model),
  'a URL': pathToFileURL('/model.onnx'),
  'a Blob': new Blob([model]),
  'a DataView': new DataView(buffer),
  'a Float32Array': new Float32Array(4),
  'an Int8Array': new Int8Array(buffer),
  'a Uint8ClampedArray': new Uint8ClampedArray(buffer),
  'an object with a data property': { data: model },
}

/** Parts of an ArrayBuffer that it has not, and options in the places where they stand. */
const parts: readonly (readonly [what: string, rest: readonly unknown[], name: Name, words: RegExp])[] = [
  ['a negative byteOffset', [-1], 'RangeError', /'byteOffset'/],
  ['a byteOffset that is no integer', [1.5], 'RangeError', /'byteOffset'/],
  ['a byteOffset of NaN', [NaN], 'RangeError', /'byteOffset'/],
  ['a byteOffset at the end', [buffer.byteLength], 'RangeError', /'byteOffset'/],
  ['a byteOffset that is too large', [1e8], 'RangeError', /'byteOffset'/],
  ['a byteOffset that is a text', ['0'], 'TypeError', /'options'/],
  ['a byteOffset that is a bigint', [0n], 'TypeError', /'options'/],
  ['a negative byteLength', [0, -1], 'RangeError', /'byteLength'/],
  ['a byteLength of 0', [0, 0], 'RangeError', /'byteLength'/],
  ['a byteLength that is no integer', [0, 1.5], 'RangeError', /'byteLength'/],
  ['a byteLength of NaN', [0, NaN], 'RangeError', /'byteLength'/],
  ['a byteLength that is too large', [0, 1e8], 'RangeError', /'byteLength'/],
  ['a byteLength beyond the offset', [8, buffer.byteLength], 'RangeError', /'byteLength'/],
  ['a byteLength that is a text', [0, '8'], 'TypeError', /'byteLength'/],
  ['options that are a text, after the bytes', [0, buffer.byteLength, 'cpu'], 'TypeError', /'options'/],
  ['options of null, after the bytes', [0, buffer.byteLength, null], 'TypeError', /'options'/],
]

/** What stands for options, and is none. */
const noOptions: Record<string, unknown> = { 'a text': 'cpu', 'a boolean': true, null: null, 'a function': () => ({}) }

const corrupt = (change: (bytes: Uint8Array) => Uint8Array): Uint8Array => change(new Uint8Array(model))

/** y = x + w in what the model says of itself, and what it is not. */
function broken(change: (model: ReturnType<GraphBuilder['toModel']>) => unknown): Uint8Array {
  const g = new GraphBuilder({ name: 'broken' })
  g.output(g.node('Abs', [g.input('x', 'float32', ['N'])], {}, { output: 'y' }), 'float32', ['N'])
  const made = g.toModel()
  change(made)
  return writeModel(made)
}

const detached = (): Uint8Array => {
  const bytes = new Uint8Array(model)
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
  return bytes
}

const shared = (): Uint8Array => {
  const bytes = new Uint8Array(new SharedArrayBuffer(64))
  return bytes.fill(255)
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 73, 72, 68, 82)

/** Bytes that are no model, as bytes and as a file. */
export const contents: Record<string, () => Uint8Array> = {
  'no bytes': () => new Uint8Array(0),
  'a text': () => bytesOf('hello, world\n'),
  json: () => bytesOf('{ "model": "resnet" }'),
  html: () => bytesOf('<!doctype html><title>404</title>'),
  'a pointer of Git LFS': () =>
    bytesOf(`version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 4\n`),
  zeros: () => new Uint8Array(64),
  'bytes of 255': () => new Uint8Array(64).fill(255),
  'a picture (PNG)': () => png,
  'a picture (JPEG)': () => Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0),
  'a zip': () => Uint8Array.of(0x50, 0x4b, 3, 4, 20, 0, 0, 0, 8, 0),
  gzip: () => Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3),
  'a library (ELF)': () => Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0),
  'a numpy array': () => bytesOf('\x93NUMPY\x01\x00v\x00{}'),
  'a plan of TensorRT': () => bytesOf('ftrt\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'),
  'half a model': () => corrupt((bytes) => bytes.subarray(0, bytes.length >> 1)),
  'a model without its last byte': () => corrupt((bytes) => bytes.subarray(0, -1)),
  'a model without its first byte': () => corrupt((bytes) => bytes.subarray(1)),
  'a model that is twisted': () => corrupt((bytes) => bytes.map((byte, i) => (i % 7 === 3 ? byte ^ 0x55 : byte))),
  'one byte': () => Uint8Array.of(8),
}

/** Models that a graph cannot be made of. */
const models: Record<string, () => Uint8Array> = {
  'no graph': () => broken((made) => Reflect.deleteProperty(made, 'graph')),
  'an unknown operator': () => oneNode('Frobnicate'),
  'an operator of an unknown domain': () => oneNode('Frobnicate', [1, 4], 'com.example'),
  'operators of the future': () => broken(({ opsetImport }) => opsetImport.forEach((set) => (set.version = 9999n))),
  'a version of the future': () => broken((made) => (made.irVersion = 9999n)),
  'a node of what is not there': () => broken(({ graph }) => (graph!.node[0]!.input[0] = 'nothing')),
  'an output of what is not there': () => broken(({ graph }) => (graph!.output[0]!.name = 'nothing')),
  'a name twice': () => broken(({ graph }) => (graph!.node[0]!.output[0] = 'x')),
  'a circle': () => broken(({ graph }) => (graph!.node[0]!.input[0] = 'y')),
  'a node without an input': () => broken(({ graph }) => (graph!.node[0]!.input.length = 0)),
  'two nodes of one output': () => broken(({ graph }) => graph!.node.push(graph!.node[0]!)),
  'a type that nobody has': () =>
    broken(({ graph }) => {
      const value = graph!.input[0]!.type?.value
      if (value?.case === 'tensorType') value.value.elemType = 99
    }),
  'an input of a type that no Tensor holds': () => foreignInput(),
  'an output of a type that no Tensor holds': () => identity('bfloat16', [1]),
}

const files: readonly (readonly [what: string, path: (folder: string) => string, words: RegExp])[] = [
  ['a file that is not there', (folder) => join(folder, 'nothing.onnx'), /^Load model from .*nothing\.onnx failed/],
  ['a folder that is not there', (folder) => join(folder, 'no', 'model.onnx'), /failed/],
  ['a relative path of nothing', () => 'nothing.onnx', /^Load model from nothing\.onnx failed/],
  ['a folder', (folder) => folder, /failed.*(folder|directory)/i],
  ['the root', () => '/', /failed.*(folder|directory)/i],
  ['a file as a folder', (folder) => join(folder, 'a text', 'model.onnx'), /failed/],
  ['a path with a zero in it', (folder) => `${folder}\0model.onnx`, /failed/],
  ['a name that is too long', (folder) => join(folder, 'x'.repeat(300)), /failed/],
  ['a link to itself', (folder) => join(folder, 'circle.onnx'), /failed/],
  ['the address of a page', () => 'https://example.com/model.onnx', /failed/],
  ['a path of spaces', () => '  ', /failed/],
]

const none = /^Load model( from .*)? failed|^Load model.* pointer is null/

export const rows: readonly Row[] = [
  ...Object.entries(sources).map(([what, source]): Row => [
    `create(${what})`,
    ({ create }) => create(source),
    'TypeError',
    /argument\[0\]/,
  ]),
  ...parts.map(([what, rest, name, words]): Row => [
    `bytes: ${what}`,
    ({ create }) => create(buffer, ...rest),
    name,
    words,
  ]),
  ...Object.entries(noOptions).flatMap(([what, options]): Row[] => [
    [`create(path, ${what})`, ({ create }) => create('/model.onnx', options), 'TypeError', /'options'/],
    [`create(bytes, ${what})`, ({ create }) => create(model, options), 'TypeError', /'options'/],
  ]),
  ...Object.entries(contents).flatMap(([what, made]): Row[] => [
    [`the bytes of ${what}`, ({ create }) => create(made()), 'Error', none],
    [`a file of ${what}`, ({ create, folder }) => create(join(folder, what)), 'Error', none],
  ]),
  ['bytes that were transferred away', ({ create }) => create(detached()), 'Error', /failed|null/, 'untried'],
  ['shared memory of no model', ({ create }) => create(shared()), 'Error', /failed/, 'untried'],
  ...Object.entries(models).map(([what, made]): Row => [
    `a model with ${what}`,
    ({ create }) => create(made()),
    'Error',
    /./,
  ]),
  ...files.map(([what, path, words]): Row => [what, ({ create, folder }) => create(path(folder)), 'Error', words]),
]
