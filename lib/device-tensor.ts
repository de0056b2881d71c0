import { checkedAbort, type Abortable } from './base/options.js'
import { within } from './base/cancellation.js'
import { shown, shownAs, type Shown } from './base/shown.js'
import { TensorRTError } from './errors.js'
import {
  arrayOf,
  checkedDType,
  type DType,
  type DTypeArrays,
  elementCount,
  type Tensor,
  trustedTensor,
} from './tensor.js'

/** A tensor, wherever it is: what goes into an engine. `location` tells them apart. */
export type AnyTensor<D extends DType = DType> = Tensor<D> | DeviceTensor<D>

/** The memory of a tensor that stays, as its backend has it. */
export interface DeviceMemory {
  /** The number of the GPU; -1 for the CPU. */
  readonly device: number
  /** What the backend knows it by. */
  readonly handle: object
  /** A copy of the bytes. */
  read(): Promise<ArrayBuffer>
  /** The same memory once more: it goes when both have been disposed. */
  share(): DeviceMemory
  /** Twice without harm. Whatever is under way with it goes on; the memory is freed after that. */
  dispose(): void
}

const ofThisPackage = Symbol('of this package')

/**
 * What `structuredClone` and `postMessage` come upon, and refuse in its words: a tensor would lose its memory on the
 * way.
 */
const staysHere = Symbol(
  'A DeviceTensor, which stays on its device and in its thread: await its toHost(), and send that,',
)

// what of the class only this file reaches
let memoryOfAny: (tensor: DeviceTensor) => DeviceMemory
let make: <D extends DType>(
  dtype: D,
  shape: readonly number[],
  byteLength: number,
  memory: DeviceMemory,
) => DeviceTensor<D>

/**
 * A tensor that stays where it was computed: in the memory of a GPU, or on the CPU backend in memory of the process. It
 * has no `data`; {@link toHost} copies it. `engine.infer(inputs, { location: 'device' })` and {@link Engine.upload}
 * make them. Any engine of the same device takes it as an input without a copy through the host, and writes an output
 * to it that `into` names.
 *
 * Its memory is freed by {@link dispose}, at the end of a `using` declaration, or when the garbage collector finds it,
 * which may be late: V8 knows of its bytes, and of nothing else on the GPU. It outlives the engine that made it.
 * @see https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
 * @example
 * ```ts
 * import { Engine, Tensor } from 'node-tensorrt'
 *
 * const engine = await Engine.load('model.onnx', { outputs: { scores: 'float32' }, inputs: { images: 'float32' } })
 * const images = Tensor.zeros('float32', [1, 3, 224, 224])
 * const { scores } = await engine.infer({ images }, { location: 'device' })
 * console.log((await scores.toHost()).data)
 * scores.dispose()
 * await engine.close()
 * ```
 */
export class DeviceTensor<D extends DType = DType> implements Disposable {
  /** The data type. */
  readonly dtype: D
  /** The dimensions, row-major, the outermost first; `[]` is a scalar. */
  readonly shape: readonly number[]
  /** The size of the tensor, in bytes. */
  readonly byteLength: number
  /** The number of the GPU; -1 for the CPU. */
  readonly device: number
  private readonly uncloneable = staysHere
  readonly #memory: DeviceMemory
  #disposed = false // a frozen object's too can be set

  static {
    memoryOfAny = (tensor) => tensor.#open()
    make = (dtype, shape, byteLength, memory) => new DeviceTensor(ofThisPackage, dtype, shape, byteLength, memory)
  }

  /** For this package: see {@link deviceTensor}. */
  private constructor(mark: symbol, dtype: D, shape: readonly number[], byteLength: number, memory: DeviceMemory) {
    if (mark !== ofThisPackage) {
      const message = "A DeviceTensor is made by infer(…, { location: 'device' }) and by engine.upload(tensor)"
      throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
    }
    this.dtype = dtype
    this.shape = shape
    this.byteLength = byteLength
    this.device = memory.device
    this.#memory = memory
    Object.freeze(this)
  }

  /** Whether `value` is a DeviceTensor. */
  static is(value: unknown): value is DeviceTensor {
    return typeof value === 'object' && value !== null && #memory in value
  }

  /** The number of elements. */
  get size(): number {
    return elementCount(this.shape)
  }

  /** Where the data is: not in memory that JavaScript reaches. */
  get location(): 'device' {
    return 'device'
  }

  /** Whether {@link dispose} was called. */
  get disposed(): boolean {
    return this.#disposed
  }

  /**
   * This tensor, known to be of a data type. @throws TensorRTError ERR_TRT_DTYPE when it is of another,
   * ERR_TRT_INVALID_ARGUMENT when there is no such type
   */
  as<E extends DType>(dtype: E): DeviceTensor<E> {
    if ((checkedDType(dtype) as DType) === this.dtype) return this as unknown as DeviceTensor<E>
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected a tensor of ${dtype} but this one is of ${this.dtype}`, {
      details: { expected: dtype, received: this.dtype },
    })
  }

  /**
   * A copy on the host. The tensor stays, and may be disposed before the copy is there.
   * @throws TensorRTError (as a rejection) ERR_TRT_DISPOSED, ERR_TRT_BUFFER_IN_USE while an inference writes it
   * (`into`), ERR_TRT_OUT_OF_MEMORY, ERR_TRT_DEVICE_LOST, ERR_TRT_INVALID_ARGUMENT; or it is the reason of the signal
   * @see https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html cuMemcpyDtoHAsync
   */
  async toHost(options?: Abortable): Promise<Tensor<D>> {
    const signal = checkedAbort(options, 'toHost')
    const memory = this.#open()
    const buffer = await within({ signal }, () => memory.read())
    return trustedTensor(this.dtype, new (arrayOf(this.dtype))(buffer) as DTypeArrays[D], this.shape)
  }

  /** Frees the memory, once nothing that is under way uses it. A second call does no harm. */
  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#memory.dispose()
  }

  /** Calls {@link dispose}, for `using`. */
  [Symbol.dispose](): void {
    this.dispose()
  }

  /** @internal What `console.log` shows. */
  [shownAs](...how: Shown): string {
    const { dtype, shape } = this
    const device = this.device < 0 ? 'the CPU' : `GPU ${this.device}`
    return shown('DeviceTensor', { dtype, shape, device, state: this.#disposed ? 'disposed' : 'open' }, how)
  }

  #open(): DeviceMemory {
    if (!this.#disposed) return this.#memory
    const message = `The ${this.dtype} tensor of shape [${this.shape.join(', ')}] on a device was disposed`
    throw new TensorRTError('ERR_TRT_DISPOSED', message)
  }
}

/** For this package: a tensor over memory of a backend. `shape` is frozen, and it all fits together. */
export function deviceTensor<D extends DType>(
  dtype: D,
  shape: readonly number[],
  byteLength: number,
  memory: DeviceMemory,
): DeviceTensor<D> {
  return make(dtype, shape, byteLength, memory)
}

/** For this package. @throws TensorRTError ERR_TRT_DISPOSED */
export function memoryOf(tensor: DeviceTensor): DeviceMemory {
  return memoryOfAny(tensor)
}

/**
 * For this package: a tensor over the same memory, which stays until this one is disposed. @throws TensorRTError
 * ERR_TRT_DISPOSED
 */
export function heldTensor(tensor: DeviceTensor): DeviceTensor {
  return deviceTensor(tensor.dtype, tensor.shape, tensor.byteLength, memoryOf(tensor).share())
}
