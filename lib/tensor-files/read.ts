import { basename, extname } from 'node:path'
import type { FileHandle } from 'node:fs/promises'
import { isUint8Array } from 'node:util/types'
import { checkedObject } from '../base/checks.js'
import { fitsDims, shapeText } from '../base/dims.js'
import { onFile, openFile, pointed } from '../base/files.js'
import { isLfsPointer } from '../base/lfs.js'
import { rememberFiles } from '../base/overwriting.js'
import { allocated, readFully } from '../base/pieces.js'
import { type Checked, checkedCall, option, type OptionTable, signalOption } from '../base/option-table.js'
import { checkedSource } from '../base/source.js'
import { expected, TensorRTError } from '../errors.js'
import { byteSize, checkedDType, checkedShape, type DType, Tensor } from '../tensor.js'
import { parseJson } from './json.js'
import { parseNpy } from './npy.js'
import { checkedFormat, damaged, type TensorFormat, type TensorSpec } from './types.js'

/** Where tensors come from: the path or `file:` URL of a file, or the bytes of one. */
export type TensorSource = string | URL | Uint8Array | ArrayBuffer

interface ReadOptions {
  /**
   * Default: what the path ends in, `.npy`, `.npz`, `.json`; `.raw`, `.bin` and `.dat` are raw. Of bytes it has to be
   * said.
   */
  readonly format?: TensorFormat | undefined
  /** Gives up reading; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Options of {@link readTensor}. */
export interface ReadTensorOptions extends ReadOptions {
  /**
   * What the tensor must be; of raw bytes it has to be said. A JSON file's numbers become it, and float32 without it,
   * unless the file says its own.
   */
  readonly dtype?: DType | undefined
  /**
   * What the tensor must have; -1 for a dimension of any length, of which raw bytes allow one; these are of one
   * dimension without it.
   */
  readonly shape?: readonly number[] | undefined
}

/** Options of {@link readTensors}. */
export interface ReadTensorsOptions extends ReadOptions {
  /** What tensors of these names must be, such as `engine.inputs`; others are taken as they are. */
  readonly expect?: Readonly<Record<string, TensorSpec>> | undefined
}

const table = { format: option((format) => format), signal: signalOption } satisfies OptionTable<ReadOptions>

const tensorTable = {
  ...table,
  dtype: option((dtype) => checkedDType(dtype as DType)),
  shape: option(checkedDims),
} satisfies OptionTable<ReadTensorOptions>

const tensorsTable = {
  ...table,
  expect: option((specs, name) => checkedObject(specs, name) as Readonly<Record<string, unknown>>, {}),
} satisfies OptionTable<ReadTensorsOptions>

/**
 * Reads the tensor of a file that has one: `.npy` (versions 1 to 3, either order of dimensions and bytes), `.npz` and
 * JSON with a single one, raw bytes. Nothing in a file is evaluated; sizes are compared with those of the file before
 * memory is taken.
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE where a file cannot be read, is damaged, or has several tensors;
 * ERR_TRT_DTYPE, ERR_TRT_SHAPE where it has another data type or shape than `options` say, or one that tensors do not
 * have; ERR_TRT_OUT_OF_MEMORY; ERR_TRT_INVALID_ARGUMENT; or it is the reason of the signal
 * @see https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 * @example
 * ```ts
 * import { readTensor, Tensor, writeTensor } from 'node-tensorrt'
 *
 * await writeTensor('input.npy', Tensor.zeros('float32', [1, 3, 224, 224]))
 * await writeTensor('frame.bin', Tensor.zeros('uint8', [1, 480, 640, 3]))
 * const input = await readTensor('input.npy')
 * const frame = await readTensor('frame.bin', { dtype: 'uint8', shape: [1, 480, 640, 3] }) // raw bytes say neither
 * console.log(input.shape, frame.byteLength)
 * ```
 */
export async function readTensor(source: TensorSource, options?: ReadTensorOptions): Promise<Tensor> {
  const given = checkedCall(specOnly(options), tensorTable, 'readTensor')
  const { tensors, name } = await readAll(source, given, () => given)
  const [first, ...others] = tensors.values()
  if (first !== undefined && others.length === 0) return first
  const names = tensors.size === 0 ? '' : ` (${[...tensors.keys()].join(', ')})`
  throw damaged(name, `expected one tensor but found ${tensors.size}${names}`)
}

/**
 * Reads the tensors of a file by their names: `.npz` as `numpy.savez` writes it, stored or deflated, and JSON, of
 * trtexec (`[{ "name", "dimensions": "1x1000", "values": [...] }]`) or plain (`{ "name": [[1, 2], [3, 4]] }`). Of
 * `.npy`, of raw bytes and of a bare nested array it is one tensor, with the name of the file without its ending.
 * @throws TensorRTError (as a rejection) as {@link readTensor}
 * @example
 * ```ts
 * import { Engine, readTensors, Tensor, writeTensors } from 'node-tensorrt'
 *
 * await writeTensors('inputs.npz', { images: Tensor.zeros('float32', [1, 3, 224, 224]) })
 * const engine = await Engine.load('model.onnx')
 * const outputs = await engine.infer(await readTensors('inputs.npz', { expect: engine.inputs }))
 * console.log(Object.keys(outputs))
 * await engine.close()
 * ```
 */
export async function readTensors(source: TensorSource, options?: ReadTensorsOptions): Promise<Record<string, Tensor>> {
  const { expect, ...given } = checkedCall(options, tensorsTable, 'readTensors')
  const { tensors } = await readAll(source, given, (name) =>
    Object.hasOwn(expect, name) ? checkedSpec(expect[name], name) : {},
  )
  return Object.fromEntries(tensors)
}

/** What an engine says of an input may be given as options: of it only this much counts. */
function specOnly(options: unknown): unknown {
  if (typeof options !== 'object' || options === null || !('profiles' in options)) return options
  const { dtype, shape } = options as Partial<TensorSpec>
  return { dtype, shape }
}

type Spec = { readonly [K in keyof TensorSpec]?: TensorSpec[K] | undefined }

function checkedSpec(spec: unknown, name: string): Spec {
  const { dtype, shape } = checkedObject(spec, `expect.${name}`) as Partial<Record<keyof TensorSpec, unknown>>
  return { dtype: checkedDType(dtype as DType), shape: checkedDims(shape) }
}

function checkedDims(shape: unknown): readonly number[] {
  if (!Array.isArray(shape)) throw expected('an array of integers from -1', 'shape', shape)
  const open = checkedShape(shape.map((side: unknown) => (side === -1 ? 0 : side)))
  return open.map((side, axis) => (shape[axis] === -1 ? -1 : side))
}

interface Found {
  readonly tensors: ReadonlyMap<string, Tensor>
  /** For messages. */
  readonly name: string
}

async function readAll(
  source: unknown,
  { format: given, signal }: Checked<typeof table>,
  specOf: (tensor: string) => Spec,
): Promise<Found> {
  const from = checkedSource(source)
  const path = typeof from === 'string' ? from : undefined
  const format = checkedFormat(given, path)
  const name = path ?? `the bytes of a .${format}`
  const own = path === undefined ? '' : basename(path, extname(path))
  const way = { format, name, own, specOf, signal }
  const read = await (typeof from === 'string'
    ? onFile('read', from, () => fromFile(from, (file) => parsed(file, way)))
    : parsed(from, way))
  const tensors = new Map(
    [...read].map(([key, tensor]) => [key, checkedTensor(tensor, specOf(key), `${JSON.stringify(key)} of ${name}`)]),
  )
  if (path !== undefined) for (const tensor of tensors.values()) rememberFiles(tensor, path)
  return { tensors, name }
}

async function fromFile<T>(path: string, body: (file: FileHandle) => Promise<T>): Promise<T> {
  await using file = await openFile(path)
  const head = Buffer.alloc(64)
  const { bytesRead } = await file.read(head, 0, head.length, 0)
  if (isLfsPointer(head.subarray(0, bytesRead))) throw pointed(path)
  return await body(file)
}

interface Way {
  readonly format: TensorFormat
  readonly name: string
  /** What a tensor is called that has no name in the file. */
  readonly own: string
  readonly specOf: (tensor: string) => Spec
  readonly signal: AbortSignal | undefined
}

async function parsed(
  from: FileHandle | Uint8Array,
  { format, name, own, specOf, signal }: Way,
): Promise<ReadonlyMap<string, Tensor>> {
  if (format === 'npz') return (await import('./npz.js')).readNpz(from, name, signal)
  const bytes = isUint8Array(from) ? from : await wholeFile(from, name, signal)
  if (format === 'npy') return new Map([[own, parseNpy(bytes, name)]])
  if (format === 'raw') return new Map([[own, rawTensor(bytes, specOf(own), name)]])
  const found = parseJson(bytes, name, (key) => specOf(key === '' ? own : key).dtype)
  return new Map([...found].map(([key, tensor]) => [key === '' ? own : key, tensor]))
}

/** Some at a time, so that a signal is heard. */
const pieceBytes = 2 ** 26

async function wholeFile(file: FileHandle, name: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const { size } = await file.stat()
  const bytes = allocated(size, name)
  const done = await readFully(file, bytes, 0, { piece: pieceBytes, signal })
  if (done < size) throw damaged(name, 'it became shorter while it was read')
  return bytes
}

function rawTensor(bytes: Uint8Array, { dtype, shape = [-1] }: Spec, name: string): Tensor {
  if (dtype === undefined) throw expected(`a data type for ${name}, whose bytes do not tell it,`, 'dtype', dtype)
  const open = shape.filter((side) => side === -1).length
  if (open > 1) throw expected('at most one dimension of any length for raw bytes', 'shape', shape)
  const closed = shape.map((side) => (side === -1 ? 1 : side))
  const rest = byteSize(dtype, closed)
  const whole = shape.map((side) => (side === -1 ? (rest === 0 ? 0 : bytes.length / rest) : side))
  if (byteSize(dtype, whole) !== bytes.length || !whole.every(Number.isInteger))
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected ${open === 0 ? '' : 'a multiple of '}${rest} bytes in ${name}, for ${dtype} ${shapeText(shape)}, but found ${bytes.length}`,
      { details: { expected: rest, found: bytes.length } },
    )
  return Tensor.fromBytes(dtype, bytes.buffer as ArrayBuffer, whole)
}

function checkedTensor(tensor: Tensor, { dtype = tensor.dtype, shape = tensor.shape }: Spec, where: string): Tensor {
  if (tensor.dtype !== dtype) throw unlike('ERR_TRT_DTYPE', where, dtype, tensor.dtype)
  if (!fitsDims(tensor.shape, shape)) throw unlike('ERR_TRT_SHAPE', where, shape, tensor.shape)
  return tensor
}

function unlike<T extends string | readonly number[]>(
  code: 'ERR_TRT_DTYPE' | 'ERR_TRT_SHAPE',
  where: string,
  wanted: T,
  found: T,
): TensorRTError {
  const [a, b] = [wanted, found].map((each) => (typeof each === 'string' ? each : shapeText(each)))
  const what = code === 'ERR_TRT_SHAPE' ? `shape ${a}` : a
  return new TensorRTError(code, `Expected ${what} for ${where} but found ${b}`, {
    details: { expected: wanted, found },
  })
}
