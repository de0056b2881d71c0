// Elements of `contents`, as numbers of protobuf, to bytes: each arrives as it was sent, or is refused.
import type { ContentsElements, ContentsKind, TensorContents } from '../../kserve/tensor-contents.js'
import { type Datatype, elementBytes, isDatatype } from '../../kserve/tensor.js'
import { invalid } from '../faults.js'

/** Where the elements of a data type are. */
const kindOf: { readonly [datatype in Datatype]?: ContentsKind } = {
  BOOL: 'bool',
  INT8: 'int',
  INT16: 'int',
  INT32: 'int',
  INT64: 'int64',
  UINT8: 'uint',
  UINT16: 'uint',
  UINT32: 'uint',
  UINT64: 'uint64',
  FP32: 'fp32',
  FP64: 'fp64',
  BYTES: 'bytes',
}

/** What a list has, as texts call it; of integers the widest. */
const typeOf: Readonly<Record<ContentsKind, Datatype>> = {
  bool: 'BOOL',
  int: 'INT32',
  int64: 'INT64',
  uint: 'UINT32',
  uint64: 'UINT64',
  fp32: 'FP32',
  fp64: 'FP64',
  bytes: 'BYTES',
}

/** An input with contents. */
export interface ContentsInput {
  readonly name: string
  readonly datatype: string
  readonly contents: TensorContents
}

/**
 * Bytes that the elements take. @throws Fault INVALID_ARG with Triton's texts where they are in a list of another type,
 * or in several
 */
export function bytesOfContents({ name, datatype, contents }: ContentsInput, model: string): number {
  const { kinds } = contents
  const wanted = kindOf[datatype as Datatype]
  const about = `unexpected explicit tensor data for input tensor '${name}' for model '${model}'`
  const [first] = kinds
  if (first === undefined) return 0
  for (const [index, kind] of kinds.entries()) {
    if (index > 0 && first === wanted) throw invalid(`${about}, binary data was already supplied.`)
    const shown = isDatatype(datatype) ? datatype : '<invalid>'
    if (kind !== wanted) throw invalid(`${about} of type '${typeOf[kind]}', expected datatype '${shown}'`)
  }
  return first === 'bytes'
    ? contents.textBytes + 4 * contents.count('bytes')
    : contents.count(first) * bytesOf(datatype)
}

function bytesOf(datatype: string): number {
  return elementBytes[datatype as keyof typeof elementBytes] ?? 0
}

/**
 * Writes as many bytes as {@link bytesOfContents} gave. @throws Fault INVALID_ARG where a number would not arrive as it
 * was sent
 */
export function writeContents(input: ContentsInput, target: Uint8Array): void {
  const kind = kindOf[input.datatype as Datatype]
  if (kind === undefined || target.length === 0) return
  if ((kind === 'fp32' || kind === 'fp64') && copyPacked(input.contents.packed(kind), target)) return
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength)
  writers[kind](input, view, target)
}

function copyPacked(views: readonly Uint8Array[] | undefined, target: Uint8Array): boolean {
  if (views === undefined) return false
  let at = 0
  for (const bytes of views) {
    target.set(bytes, at)
    at += bytes.length
  }
  return true
}

type Writer = (input: ContentsInput, view: DataView, target: Uint8Array) => void

function writer<K extends ContentsKind>(
  kind: K,
  write: (view: DataView, at: number, element: ContentsElements[K]) => void,
): Writer {
  return ({ datatype, contents }, view) => {
    const size = bytesOf(datatype)
    contents.forEach(kind, (element, index) => write(view, index * size, element))
  }
}

/** Of the widest integer's list, as the narrower ones have it, too. */
function narrowed(kind: 'int' | 'uint'): Writer {
  return (input, view) => {
    const { datatype, contents, name } = input
    const size = bytesOf(datatype)
    const [least, most] = kind === 'uint' ? [0, 2 ** (8 * size) - 1] : [-(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1]
    contents.forEach(kind, (element, index) => {
      if (element < least || element > most)
        throw invalid(`Unable to parse 'contents': ${element} in input '${name}' is out of the range of ${datatype}`)
      const at = index * size
      if (size === 1) view.setUint8(at, element)
      else if (size === 2) view.setUint16(at, element, true)
      else view.setUint32(at, element, true)
    })
  }
}

const writers: Readonly<Record<ContentsKind, Writer>> = {
  bool: writer('bool', (view, at, element) => view.setUint8(at, element ? 1 : 0)),
  int: narrowed('int'),
  int64: writer('int64', (view, at, element) => view.setBigInt64(at, element, true)),
  uint: narrowed('uint'),
  uint64: writer('uint64', (view, at, element) => view.setBigUint64(at, element, true)),
  fp32: writer('fp32', (view, at, element) => view.setFloat32(at, element, true)),
  fp64: writer('fp64', (view, at, element) => view.setFloat64(at, element, true)),
  bytes: ({ contents }, view, target) => {
    let at = 0
    contents.forEach('bytes', (text) => {
      view.setUint32(at, text.length, true)
      target.set(text, at + 4)
      at += 4 + text.length
    })
  },
}
