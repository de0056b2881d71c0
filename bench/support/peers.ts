/** What figures are held against: onnxruntime-node, and a bare addon. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { packageRoot } from '../../lib/base/package.js'
import { identity } from '../../test/support/models.js'
import { realModels } from '../../test/support/real-models.js'
import { median } from './measure.js'

const require = createRequire(import.meta.url)

export function onnxruntimeVersion(): string {
  const { version } = JSON.parse(readFileSync(require.resolve('onnxruntime-node/package.json'), 'utf8')) as {
    version: string
  }
  return `onnxruntime-node ${version}`
}

export interface Peer {
  readonly run: () => Promise<unknown>
  readonly release: () => Promise<void>
}

/** Identity of so many floats, on one thread: the model itself takes no time. */
export async function onnxruntimeIdentity(size: number): Promise<Peer> {
  const session = await InferenceSession.create(identity('float32', [size]), { intraOpNumThreads: 1 })
  const feeds = { x: new Tensor('float32', new Float32Array(size), [size]) }
  return { run: () => session.run(feeds), release: () => session.release() }
}

/** A model on one thread, with one input of such a shape; its values differ, for kernels may take zeros faster. */
export async function onnxruntimeModel(model: Uint8Array | string, shape: readonly number[]): Promise<Peer> {
  const options = { intraOpNumThreads: 1 }
  const session = await (typeof model === 'string'
    ? InferenceSession.create(model, options)
    : InferenceSession.create(model, options))
  const [input = ''] = session.inputNames
  const feeds = { [input]: new Tensor('float32', wave(shape), shape) }
  return { run: () => session.run(feeds), release: () => session.release() }
}

/** Numbers from -1 to 1, as many as a tensor of the shape has. */
export function wave(shape: readonly number[]): Float32Array {
  return Float32Array.from({ length: shape.reduce((product, dim) => product * dim, 1) }, (_, i) => Math.sin(i))
}

/** PP-OCR's text detector, on a picture of such a size that it takes about so many milliseconds here. */
export async function onnxruntimeDetector(
  wantedMs: number,
): Promise<Peer & { readonly ms: number; readonly size: number }> {
  const session = await InferenceSession.create(realModels.detector)
  const [input = ''] = session.inputNames
  for (let size = 64; ; size += 32) {
    const feeds = { [input]: new Tensor('float32', new Float32Array(3 * size * size), [1, 3, size, size]) }
    const times: number[] = []
    for (let i = 0; i < 5; i++) {
      const begun = performance.now()
      await session.run(feeds)
      times.push(performance.now() - begun)
    }
    const ms = median(times)
    if (ms >= wantedMs || size >= 640)
      return { run: () => session.run(feeds), release: () => session.release(), ms, size }
  }
}

/**
 * Microseconds of each turn of a loop that has the driver copy so many bytes in and out, and asks until they are:
 * bench/native/driver_loop.cc.
 */
export function driverLoop(libcuda: string, bytes: number, count: number): number {
  const addon = require(join(packageRoot(), 'build', 'bench', 'driver_loop.node')) as {
    run(library: string, bytes: number, count: number): number
  }
  return addon.run(libcuda, bytes, count)
}

/**
 * Microseconds of each query of trtexec's loop with nothing around it, on the fake driver:
 * bench/native/trtexec_loop.cc.
 */
export function trtexecLoop(libcuda: string, bytes: number, queries: number): number {
  const addon = require(join(packageRoot(), 'build', 'bench', 'trtexec_loop.node')) as {
    run(library: string, bytes: number, queries: number): number
  }
  return addon.run(libcuda, bytes, queries)
}

/** One thread and one thread-safe function: bench/native/roundtrip.cc, which scripts/bench.mjs builds. */
export class RoundTrip {
  readonly #addon = require(join(packageRoot(), 'build', 'bench', 'roundtrip.node')) as {
    start(callback: () => void): void
    ask(milliseconds: number): void
    end(): void
  }
  #then: () => void = () => {}
  static #shared: RoundTrip | undefined

  private constructor() {
    this.#addon.start(() => this.#then())
  }

  /** The only one of this process. */
  static get shared(): RoundTrip {
    return (this.#shared ??= new RoundTrip())
  }

  /** Asks `count` times, each time when the last answer has come: no promises. */
  run(count: number): Promise<void> {
    let left = count
    return new Promise((resolve) => {
      this.#then = () => {
        if (--left > 0) this.#addon.ask(0)
        else resolve()
      }
      this.#addon.ask(0)
    })
  }

  /** Both threads work at the same time, so that the system gives each a core of its own where one is free. */
  async spread(ms: number): Promise<void> {
    const answered = new Promise<void>((resolve) => (this.#then = resolve))
    this.#addon.ask(ms)
    for (const end = performance.now() + ms; performance.now() < end;);
    await answered
  }

  /** Lets the process end. */
  static end(): void {
    if (this.#shared !== undefined) this.#shared.#addon.end()
  }
}
