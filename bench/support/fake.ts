/** Engines on the fake device of test/fake, whose own work takes as long as it is told to. */
import { openTensorRT } from '../../lib/backend/tensorrt.js'
import type { Backend } from '../../lib/backend/backend.js'
import type { NativeSessionOptions } from '../../lib/backend/native-types.js'
import { checkedAttachOptions } from '../../lib/engine/options.js'
import { Engine, type EngineOptions } from '../../lib/index.js'
import type { FakeDriver, FakeTensorRT } from '../../test/fake/control.js'
import { merged } from '../../test/support/groups.js'
import { useFakes } from '../../test/native/fakes.js'

export interface FakeDevice {
  readonly driver: FakeDriver
  /** The file of the driver. */
  readonly libcuda: string
  readonly tensorrt: FakeTensorRT
  /** Loads a plan of test/fake/plan.ts. */
  load(plan: Uint8Array, options?: EngineOptions): Promise<Engine>
  /** The same below Engine, for what is no public option. */
  open(plan: Uint8Array, lanes: Partial<NativeSessionOptions>): Promise<Backend>
}

/** The fakes as this process's driver; nothing of it takes time until it is told so. */
export async function fakeDevice(): Promise<FakeDevice> {
  const { driver, trt10, fakes } = await useFakes()
  const defaults = checkedAttachOptions(undefined).lanes
  return {
    driver,
    libcuda: fakes.cuda,
    tensorrt: trt10.runtime,
    load: (plan, options) => Engine.load(plan, merged({ tensorrt: { library: fakes.trt10 } }, options)),
    open: (plan, lanes) => openTensorRT(plan, { device: 0, tensorrt: fakes.trt10 }, { ...defaults, ...lanes }),
  }
}

/**
 * What the fakes count as alive, and only engines can have made: 0 once all of them are closed. The driver's pool of
 * pinned memory stays.
 */
export function liveObjects({ driver, tensorrt }: FakeDevice): number {
  const { deviceAllocations, streams, events, graphs, graphExecs } = driver.stats()
  return [deviceAllocations, streams, events, graphs, graphExecs, ...Object.values(tensorrt.stats().live)].reduce(
    (sum, count) => sum + count,
    0,
  )
}
