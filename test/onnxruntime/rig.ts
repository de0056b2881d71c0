// What the tests of sessions on TensorRT share: the fake that they run on, and what is said on the console meanwhile.
import type { InferenceSession, Tensor } from 'onnxruntime-common'
import type { Test } from 'tap'
import * as ort from '../../lib/onnxruntime/entry.js'
import { useFakes } from '../native/fakes.js'
import { temporaryFolder } from '../support/folders.js'

const fakes = await useFakes()
export const { driver, leftovers } = fakes
export const [{ control, parser, path: library }] = fakes.families
/** A library with one creator of plugins. */
export const { plugin } = fakes.fakes
process.env['TENSORRT_PATH'] = library

/** How many engines were built. */
export const builds = (): number => control.stats().builds.length

/** The provider with a cache of its own, or in this folder. */
export const tensorrt = (t: Test, options: object = {}, folder = temporaryFolder(t)): any => ({
  name: 'tensorrt',
  trt_engine_cache_enable: true,
  trt_engine_cache_path: folder,
  ...options,
})

/** A session, which is released with the test. */
export async function opened(t: Test, model: Uint8Array, ...executionProviders: any[]): Promise<any> {
  return openedBy(t, model, { executionProviders, logSeverityLevel: 3 })
}

/** The same with all the options. */
export async function openedBy(t: Test, model: Uint8Array, options: InferenceSession.SessionOptions): Promise<any> {
  const session = await ort.InferenceSession.create(model, options)
  t.teardown(() => session.release().catch(() => {}))
  return session
}

/** A tensor of float32 whose elements are their numbers. */
export const floats = (...dims: number[]): Tensor => {
  const size = dims.reduce((a, b) => a * b, 1)
  return new ort.Tensor(
    'float32',
    Float32Array.from({ length: size }, (_, i) => i),
    dims,
  )
}

/** Until this is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2))
}
