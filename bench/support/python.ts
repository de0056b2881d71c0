/** Peers in Python, in long-lived processes that answer each line with a line, both JSON. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { packageRoot } from '../../lib/base/package.js'
import type { ProfileShapes } from '../../lib/index.js'

/** A script of bench/support, which first says what it is. */
export class PythonPeer {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>
  readonly #gone: Promise<never>
  #about = ''

  private constructor(python: string, script: string, env: NodeJS.ProcessEnv, args: readonly string[]) {
    const path = join(packageRoot(), 'bench', 'support', script)
    this.#child = spawn(python, ['-B', path, ...args], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#gone = new Promise((_, reject) => {
      this.#child.once('error', reject)
      this.#child.once('close', (code, signal) => reject(new Error(`Python ended (${code ?? signal ?? '?'})`)))
    })
    this.#gone.catch(() => {}) // told to who waits for an answer
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** Starts it, and waits until it has loaded its libraries. */
  static async start(
    python: string,
    script: string,
    env: NodeJS.ProcessEnv = {},
    args: readonly string[] = [],
  ): Promise<PythonPeer> {
    const peer = new PythonPeer(python, script, env, args)
    peer.#about = ((await peer.#answer()) as { about: string }).about
    return peer
  }

  /** What it is, for people. */
  get about(): string {
    return this.#about
  }

  async ask(question: object): Promise<unknown> {
    this.#child.stdin.write(`${JSON.stringify(question)}\n`)
    return this.#answer()
  }

  end(): void {
    this.#child.stdin.end()
  }

  async #answer(): Promise<unknown> {
    const next = await Promise.race([this.#lines.next(), this.#gone])
    if (next.done === true) return await this.#gone
    const answer = JSON.parse(next.value) as { error?: string }
    if (answer.error !== undefined) throw new Error(`Python: ${answer.error}`)
    return answer
  }
}

/** What was built, and as what the library itself reports the options. */
export interface PythonBuild {
  readonly ms: number
  readonly bytes: number
  readonly layers: number
  readonly settings: {
    readonly workspace: number
    readonly optimizationLevel: number
    readonly tf32: boolean
    readonly auxiliaryStreams: number
    readonly averageTiming: number
  }
  /** All four numbers of the library's version. */
  readonly version: string
}

/** NVIDIA's own Python bindings: build.py, for which scripts/bench.mjs provides what it needs. */
export class PythonBuilder {
  readonly #peer: PythonPeer

  private constructor(peer: PythonPeer) {
    this.#peer = peer
  }

  /** With libraries from where `tensorrt` is. */
  static async start(tensorrt: string): Promise<PythonBuilder> {
    const folder = statSync(tensorrt).isDirectory() ? tensorrt : dirname(tensorrt)
    const env = { PYTHONPATH: required('TRT_BENCH_BINDINGS'), LD_LIBRARY_PATH: folder }
    return new PythonBuilder(await PythonPeer.start(required('TRT_BENCH_PYTHON'), 'build.py', env))
  }

  get about(): string {
    return this.#peer.about
  }

  async build(model: string, shapes: Readonly<Record<string, ProfileShapes>>): Promise<PythonBuild> {
    return (await this.#peer.ask({ model, shapes })) as PythonBuild
  }

  end(): void {
    this.#peer.end()
  }
}

export function required(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set: npm run bench sets it if the peer can be installed`)
  return value
}
