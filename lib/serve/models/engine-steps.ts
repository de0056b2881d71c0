// Models of engines as steps of an ensemble: what one gives may stay on its device, where the next one takes it.
import type { Datatype, WireTensor } from '../../kserve/tensor.js'
import type { Cut } from '../../base/cancellation.js'
import { type DeviceTensor, deviceTensor, memoryOf } from '../../device-tensor.js'
import type { EngineToken } from '../../engine/opener.js'
import type { ServableRequest } from './servable.js'

/** A tensor on a device, with the shape that clients of the model see. */
export interface TensorOnDevice {
  readonly name: string
  readonly datatype: Datatype
  readonly shape: readonly number[]
  readonly tensor: DeviceTensor
  /** How many bytes it has. */
  readonly bytes: { readonly length: number }
}

export type PlacedTensor = WireTensor | TensorOnDevice

export interface PlacedRequest extends Omit<ServableRequest, 'inputs'> {
  /** Those on a device are on one, which is among `devices`. */
  readonly inputs: readonly PlacedTensor[]
  /** Outputs that stay on the device. */
  readonly keep: ReadonlySet<string>
}

/** An engine as another thread comes to it. */
export interface SharedEngine {
  readonly token: EngineToken
  /** The number of its GPU; -1 for the CPU. */
  readonly device: number
}

export interface EngineStep {
  /** Numbers of the GPUs of its engines; -1 for the CPU. */
  readonly devices: readonly number[]
  /**
   * As `infer` of a servable, with tensors wherever they are. Tensors on a device are taken when this returns; whoever
   * gets one disposes it.
   * @throws Fault (as a rejection)
   */
  inferPlaced(request: PlacedRequest, cut: Cut): Promise<readonly PlacedTensor[]>
}

export function isEngineStep(servable: object): servable is EngineStep {
  return 'inferPlaced' in servable
}

export function isOnDevice(tensor: PlacedTensor): tensor is TensorOnDevice {
  return 'tensor' in tensor
}

/** The same memory once more, to be disposed by itself. */
export function reshaped(tensor: DeviceTensor, shape: readonly number[]): DeviceTensor {
  return deviceTensor(tensor.dtype, Object.freeze([...shape]), tensor.byteLength, memoryOf(tensor).share())
}
