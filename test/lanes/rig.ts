// What the tests of lanes share: both families of the fakes, plans to run on them, and what must be left at the end.
import { setTimeout as sleep } from 'node:timers/promises'
import { Engine, type EngineOptions, Tensor } from '../../lib/index.js'
import { fakePlan, type FakePlan } from '../fake/plan.js'
import { type FakeFamily, useFakes } from '../native/fakes.js'

export type Spec = Omit<FakePlan, 'version'>

export const { driver, families, leftovers } = await useFakes()

export const long = process.env['TRT_TEST_LONG'] === '1'
/** The size of a test: the first by default, the second for long runs. */
export const size = (short: number, large: number): number => (long ? large : short)

export const range = (min: number[], opt: number[], max: number[]) => ({ min, opt, max })

/** y = relu(2 · x + 1), [rows, columns] of up to `most` rows. */
export const rowsPlan = (columns = 3, most = 64, more: Partial<Spec> = {}): Spec => ({
  inputs: [{ name: 'x', shape: [-1, columns] }],
  outputs: [{ name: 'y', shape: [-1, columns] }],
  ops: [
    { type: 'scale', inputs: ['x'], output: 'scaled', attributes: { scale: 2, offset: 1 } },
    { type: 'relu', inputs: ['scaled'], output: 'y' },
  ],
  profiles: [{ dims: { x: range([1, columns], [4, columns], [most, columns]) } }],
  ...more,
})

/** What {@link rowsPlan} computes, said in JavaScript. */
export const wanted = (x: Float32Array): Float32Array => x.map((value) => Math.max(0, Math.fround(value * 2 + 1)))

/** Numbers that differ from call to call. */
export const rows = (seed: number, count = 1, columns = 3): Tensor<'float32'> =>
  new Tensor(
    'float32',
    Float32Array.from({ length: count * columns }, (_, i) => Math.sin(seed * 31 + i) * 7),
    [count, columns],
  )

/** One input x, and outputs y0 … y(n-1) = (i + 1) · x. */
export const fanPlan = (outputs: number, shape: readonly number[] = [4]): Spec => ({
  inputs: [{ name: 'x', shape }],
  outputs: Array.from({ length: outputs }, (_, i) => ({ name: `y${i}`, shape })),
  ops: Array.from({ length: outputs }, (_, i) => ({
    type: 'scale',
    inputs: ['x'],
    output: `y${i}`,
    attributes: { scale: i + 1, offset: 0 },
  })),
})

export const planOf = (family: FakeFamily, spec: Spec): Uint8Array => fakePlan({ ...spec, version: family.version })

export const load = (family: FakeFamily, spec: Spec, options: EngineOptions = {}): Promise<Engine> =>
  Engine.load(planOf(family, spec), { tensorrt: family.path, ...options })

/** Waits until it holds, and says whether it came to. */
export async function until(holds: () => boolean, milliseconds = 60_000): Promise<boolean> {
  const end = Date.now() + milliseconds
  while (!holds()) {
    if (Date.now() > end) return false
    await sleep(1)
  }
  return true
}

/** Runs with these settings of the driver, and takes them back. */
export async function driven<T>(settings: Parameters<typeof driver.set>[0], body: () => Promise<T>): Promise<T> {
  driver.set(settings)
  try {
    return await body()
  } finally {
    driver.set({ copyMs: 0, computeMs: 0, blockMs: 0, clock: 'real' })
  }
}

/** The garbage collector, where Node was started with --expose-gc. */
export const collect = async (): Promise<void> => {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.()
    await sleep(5)
  }
}

export const bytesOf = (tensor: Tensor | undefined): Buffer =>
  tensor === undefined ? Buffer.alloc(0) : Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength)
