import type { DeviceMemory } from '../device-tensor.js'
import { fromNative, loadAddon, native } from './native.js'
import type { NativeTensor } from './native-types.js'

/** A tensor's memory, as the addon has it. */
export class AddonMemory implements DeviceMemory {
  readonly handle: NativeTensor

  constructor(handle: NativeTensor) {
    this.handle = handle
  }

  get device(): number {
    return this.handle.device
  }

  read(): Promise<ArrayBuffer> {
    return native(async () => loadAddon().readTensor(this.handle))
  }

  share(): DeviceMemory {
    try {
      return new AddonMemory(loadAddon().shareTensor(this.handle))
    } catch (error) {
      throw fromNative(error)
    }
  }

  dispose(): void {
    loadAddon().disposeTensor(this.handle)
  }
}
