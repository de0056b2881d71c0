// Tensors between the steps of an ensemble in the server's own thread: on the host, or where an engine left them.
import type { WireTensor } from '../../kserve/tensor.js'
import { isOnDevice, type PlacedTensor } from '../models/engine-steps.js'
import type { StepValue } from './run.js'
import { bytesOfTensor } from '../../tensor.js'

export class PlacedValue implements StepValue {
  readonly placed: PlacedTensor
  #host: Promise<Uint8Array> | undefined

  constructor(placed: PlacedTensor) {
    this.placed = placed
  }

  get shape(): readonly number[] {
    return this.placed.shape
  }

  /** The number of its GPU, or -1 of a tensor that an engine left on the CPU; nothing where it is on the host. */
  get device(): number | undefined {
    return isOnDevice(this.placed) ? this.placed.tensor.device : undefined
  }

  /** Its bytes: themselves, or a copy of them, one for all who ask. */
  onHost(): Uint8Array | Promise<Uint8Array> {
    const { placed } = this
    if (!isOnDevice(placed)) return placed.bytes
    return (this.#host ??= placed.tensor.toHost().then((tensor) => bytesOfTensor(tensor)))
  }

  dispose(): void {
    if (isOnDevice(this.placed)) this.placed.tensor.dispose()
  }
}

/** Under another name and shape, on the host. Where it has to be copied, that is begun at once. */
export async function wireOf(value: PlacedValue, name: string, shape: readonly number[]): Promise<WireTensor> {
  return { name, datatype: value.placed.datatype, shape, bytes: await value.onHost() }
}
