// What the tests of the engine cache share: folders, models, and programs that use a cache in threads and processes of
// their own.
import { createHash } from 'node:crypto'
import { type ChildProcess, spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import { Plan } from '../../lib/index.js'
import { childEnvironment } from '../support/children.js'

/** The files of a cache's folder by what they are. */
export async function filesIn(
  folder: string,
): Promise<{ plans: string[]; sidecars: string[]; temporaries: string[]; others: string[] }> {
  const names = (await readdir(folder)).sort()
  const plans = names.filter((name) => /^[0-9a-f]{64}\.plan$/.test(name))
  const sidecars = names.filter((name) => /^[0-9a-f]{64}\.plan\.json$/.test(name))
  const temporaries = names.filter((name) => name.endsWith('.tmp'))
  const others = names.filter(
    (name) => ![...plans, ...sidecars, ...temporaries].includes(name) && !name.endsWith('.lock'),
  )
  return { plans, sidecars, temporaries, others }
}

/** Reads every plan of a folder as a stranger would, and fails where one is not whole; how many there are. */
export async function refuseDamage(folder: string): Promise<number> {
  const { plans, others } = await filesIn(folder)
  if (others.length > 0) throw new Error(`unknown files: ${others.join(', ')}`)
  for (const name of plans) {
    const report = await Plan.inspect(join(folder, name))
    if (report.source !== 'sidecar') throw new Error(`${name} has no sidecar`)
  }
  return plans.length
}

const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

/** Without the rig itself, whose tap would start its own machinery in the child. */
const prelude = (folder: string): string => `
  import { once } from 'node:events'
  import { parentPort } from 'node:worker_threads'
  import { Engine, EngineCache, Tensor } from ${url('../../lib/index.js')}
  import { controlFakes } from ${url('../fake/control.js')}
  import { addModel, oneNode } from ${url('../support/models.js')}
  const fakes = JSON.parse(process.env.FAKES)
  const { trt10, rtx17, driver } = controlFakes(fakes)
  const builder = { tensorrt: { library: fakes.trt10 } }
  const cache = new EngineCache({ folder: ${JSON.stringify(folder)} })
  const say = (value) => parentPort ? parentPort.postMessage(value) : process.stdout.write(JSON.stringify(value) + '\\n')
  const told = () => parentPort ? once(parentPort, 'message') : once(process.stdin, 'data')
`

/**
 * A thread or process that runs a program, in which there are `cache`, `builder`, `addModel`, `oneNode`, `trt10`,
 * `rtx17`, `driver`, `say` and `told`.
 */
export interface Other {
  /** What it says next; rejects when it ends first. */
  next(): Promise<unknown>
  tell(): void
  /** At once, and by force. */
  kill(): Promise<void>
}

export function startNode(folder: string, program: string, more: NodeJS.ProcessEnv = {}): Other {
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', prelude(folder) + program], {
    env: childEnvironment(more),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const heard = new Heard()
  if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => heard.add(JSON.parse(line)))
  child.once('close', (code, signal) => heard.end(new Error(`ended with ${code ?? signal ?? 'nothing'}`)))
  return {
    next: () => heard.next(),
    tell: () => void child.stdin?.end('go\n'),
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

export function startWorker(folder: string, program: string, more: NodeJS.ProcessEnv = {}): Other {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(prelude(folder) + program)}`), {
    execArgv: [],
    env: childEnvironment(more),
  })
  const heard = new Heard()
  worker.on('message', (value) => heard.add(value)).once('error', (error: Error) => heard.end(error))
  return {
    next: () => heard.next(),
    tell: () => worker.postMessage('go'),
    kill: async () => {
      await worker.terminate()
    },
  }
}

class Heard {
  readonly #values: unknown[] = []
  readonly #waiting: { resolve: (value: unknown) => void; reject: (error: Error) => void }[] = []
  #end: Error | undefined

  add(value: unknown): void {
    const waiting = this.#waiting.shift()
    if (waiting) waiting.resolve(value)
    else this.#values.push(value)
  }

  end(error: Error): void {
    this.#end = error
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  next(): Promise<unknown> {
    if (this.#values.length > 0) return Promise.resolve(this.#values.shift())
    if (this.#end) return Promise.reject(this.#end)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }
}

/** The hash that the cache knows files by, computed here in one go. */
export function hashOfChunks(bytes: Uint8Array): string {
  const chunks = Array.from({ length: Math.ceil(bytes.length / 2 ** 20) }, (_, i) =>
    bytes.subarray(i * 2 ** 20, (i + 1) * 2 ** 20),
  )
  const sha256 = (data: Uint8Array): Buffer => createHash('sha256').update(data).digest()
  return sha256(Buffer.concat(chunks.map(sha256))).toString('hex')
}
