import { controlFakes, type FakeDriver, type FakeTensorRT } from '../fake/control.js'
import { buildFakes } from '../fake/build.js'
import { processFolder } from '../support/folders.js'

/** One of the versions of TensorRT that the fakes pose as. */
export interface FakeFamily<Name extends string = 'TensorRT 10' | 'TensorRT 11'> {
  readonly name: Name
  readonly version: readonly number[]
  /** The same as TensorRT is called in messages. */
  readonly fullName: string
  /** The folder of its libraries. */
  readonly path: string
  readonly control: FakeTensorRT
  readonly parser: FakeTensorRT
}

/**
 * The fakes, built and made the driver of this process, with an engine cache of its own. To be awaited before the addon
 * looks for a driver. Children find in the variable FAKES where they are.
 */
export async function useFakes() {
  const fakes = await buildFakes()
  process.env['NODE_TENSORRT_LIBCUDA'] = fakes.cuda
  delete process.env['TENSORRT_PATH']
  if (process.env['NODE_TENSORRT_CACHE'] === undefined) {
    process.env['NODE_TENSORRT_CACHE'] = processFolder()
  }
  process.env['FAKES'] = JSON.stringify(fakes)
  const controls = controlFakes(fakes)
  const { trt10, trt11, rtx17, driver } = controls
  const families: [FakeFamily, FakeFamily] = [
    {
      name: 'TensorRT 10',
      version: [10, 15, 1],
      fullName: 'TensorRT 10.15.1',
      path: fakes.trt10,
      control: trt10.runtime,
      parser: trt10.parser,
    },
    {
      name: 'TensorRT 11',
      version: [11, 4, 0],
      fullName: 'TensorRT 11.4.0',
      path: fakes.trt11,
      control: trt11.runtime,
      parser: trt11.parser,
    },
  ]
  // what TensorRT-RTX does in another way, its own tests are about
  const rtx: FakeFamily<'TensorRT-RTX'> = {
    name: 'TensorRT-RTX',
    version: [1, 7, 1],
    fullName: 'TensorRT-RTX 1.7.1',
    path: fakes.rtx17,
    control: rtx17.runtime,
    parser: rtx17.parser,
  }
  return {
    fakes,
    ...controls,
    families,
    rtx,
    leftovers: (of: readonly FakeFamily<string>[] = families) => leftoversOf(driver, of),
  }
}

/**
 * What is live in the fakes, and what was done wrong to them; empty when all is well. Memory that JavaScript holds, and
 * pinned memory, which stays with the pool, do not count.
 */
function leftoversOf(driver: FakeDriver, families: readonly FakeFamily<string>[]): Record<string, unknown> {
  const left: Record<string, unknown> = {}
  for (const { name, control, parser } of families) {
    for (const [part, fake] of Object.entries({ runtime: control, parser })) {
      const { live, misuse, traps } = fake.stats()
      for (const [what, count] of Object.entries(live))
        if (count > 0 && what !== 'hostMemories') left[`${name} ${part}: ${what}`] = count
      if (Object.keys(misuse).length > 0) left[`${name} ${part}: misuse`] = misuse
      if (traps.length > 0) left[`${name} ${part}: traps`] = traps
    }
  }
  const { streams, events, deviceAllocations, deviceBytes, graphs, graphExecs, pageableCopies, wrongDevice } =
    driver.stats()
  for (const [what, count] of Object.entries({
    streams,
    events,
    deviceAllocations,
    deviceBytes,
    graphs,
    graphExecs,
    pageableCopies,
    wrongDevice,
  }))
    if (count > 0) left[what] = count
  return left
}
