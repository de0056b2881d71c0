/** Memory that inferences use without a copy. */
import type { Backend } from '../backend/backend.js'
import { checkedWhole } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { isError } from '../base/kinds.js'
import { expected, TensorRTError } from '../errors.js'
import { byteSize, checkedShape, expectedTensor, Tensor, typedDataOf } from '../tensor.js'
import { fitsInfo } from './arguments.js'
import type { Loaded } from './loading.js'

/** @throws TensorRTError as {@link Engine.allocate} */
export function allocatedTensor({ backend, inputs, outputs }: Loaded, name: unknown, shape: unknown): Tensor {
  const info = typeof name === 'string' ? (inputs[name] ?? outputs[name]) : undefined
  const names = [...Object.keys(inputs), ...Object.keys(outputs)]
  if (info === undefined)
    throw expected(`one of ${names.map((known) => JSON.stringify(known)).join(', ')}`, 'name', name)
  if (info.dtype === 'string') {
    const message = `Expected an input or output of numbers but ${JSON.stringify(name)} is of string: texts have no memory to share, give a Tensor of them`
    throw new TensorRTError('ERR_TRT_DTYPE', message, { details: { name } })
  }
  const dims = checkedShape(shape)
  if (!fitsInfo(dims, info, backend.kind))
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected shape ${shapeText(info.shape)} for ${JSON.stringify(name)} but received ${shapeText(dims)}`,
    )
  const pinned = backend.calls?.allocate(allocatable(byteSize(info.dtype, dims)))
  return pinned === undefined ? Tensor.zeros(info.dtype, dims) : Tensor.fromBytes(info.dtype, pinned, dims)
}

/** @throws TensorRTError as {@link Engine.allocateBytes} */
export function allocatedBytes(backend: Backend, bytes: unknown): Uint8Array<ArrayBuffer> {
  const length = checkedWhole(bytes, 'bytes', 0)
  return backend.calls === undefined
    ? ordinaryBytes(length)
    : new Uint8Array(backend.calls.allocate(allocatable(length)))
}

/**
 * The memory of a tensor or view; none where its buffer was transferred away. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function bytesOf(memory: unknown): Uint8Array {
  const view = Tensor.is(memory) ? typedDataOf(memory) : memory
  if (!ArrayBuffer.isView(view)) throw expectedTensor('a Tensor on the host, or a view of memory,', 'memory', memory)
  return view.byteLength === 0 ? new Uint8Array(0) : new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}

/** @throws TensorRTError ERR_TRT_OUT_OF_MEMORY */
function ordinaryBytes(bytes: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes)
  } catch (cause) {
    if (!(isError(cause) && cause.name === 'RangeError')) throw cause
    throw new TensorRTError('ERR_TRT_OUT_OF_MEMORY', `${bytes} bytes are more than can be had`, {
      cause,
      details: { bytes },
    })
  }
}

/** Bytes of one block: a larger ArrayBuffer over memory that is not JavaScript's own ends the process in Node 20. */
const mostAllocated = 2 ** 32

/** @throws TensorRTError ERR_TRT_OUT_OF_MEMORY */
function allocatable(bytes: number): number {
  if (bytes <= mostAllocated) return bytes
  throw new TensorRTError('ERR_TRT_OUT_OF_MEMORY', `${bytes} bytes are more than a block may have: 4 GiB`, {
    details: { bytes },
  })
}
