// A real server over TensorRT's fakes, asked over HTTP alone. The fakes' device stands still when a test says so: what
// waits then is known, and so are the batches that leave once it goes on.
import { Agent, request } from 'node:http'
import { serve, type Server, type ServeOptions } from '../../../lib/serve/index.js'
import { fakePlan } from '../../fake/plan.js'
import { driver, families, leftovers, rowsPlan, type Spec } from '../../lanes/rig.js'
import { temporaryFolder } from '../../support/folders.js'
import { certain } from '../../support/waiting.js'
import { type Files, write } from '../models/folders.js'

export { leftovers, rowsPlan, type Spec }
export { driver }

const [family] = families
const place = { port: 0, address: '127.0.0.1' }

export const plan = (spec: Spec): Uint8Array => fakePlan({ ...spec, version: family.version })

export interface Reply {
  readonly status: number

  readonly json: any
}

/** A request that was sent. */
export interface Asked {
  /** Rejected for who has left. */
  readonly reply: Promise<Reply>
  /** The client closes its connection. */
  leave(): void
}

export interface InferOptions {
  readonly priority?: number
  /** Microseconds. */
  readonly timeout?: number
  /** The first number of the first row; those that follow are one higher each. */
  readonly first?: number
  readonly version?: string
  /** What {@link Serving.answered} calls it. */
  readonly mark?: string | number
}

/** Columns of the model {@link rowsPlan}, unless a test has others. */
const columns = 3

export class Serving implements AsyncDisposable {
  readonly folder: string
  readonly server: Server
  readonly #agent = new Agent({ keepAlive: true })
  readonly #log: readonly string[]

  constructor(folder: string, server: Server, log: readonly string[]) {
    this.folder = folder
    this.server = server
    this.#log = log
  }

  /** How many requests for a model the server has had, by its log. */
  asked(model: string): number {
    return this.#log.filter((line) => line.includes('"msg":"request"') && line.includes(`/models/${model}/infer`))
      .length
  }

  /** Marks of the requests that were answered, in the order in which the server did. */
  answered(): readonly string[] {
    return this.#log.flatMap((line) => /"url":"[^"]*\?mark=(\w+)"/.exec(line)?.[1] ?? [])
  }

  /** Until the log has so many lines of requests that ended with a status. */
  async untilLog(text: string, status: number, count = 1): Promise<void> {
    const lines = (): number =>
      this.#log.filter((line) => line.includes(`"msg":"${text}"`) && line.includes(`"status":${status}`)).length
    await certain(() => lines() >= count)
  }

  ask(method: 'GET' | 'POST', path: string, body?: unknown): Asked {
    const { http } = this.server.addresses
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = { 'content-length': Buffer.byteLength(text) }
    const sent = request({ host: http?.host, port: http?.port, method, path, headers, agent: this.#agent })
    const reply = new Promise<Reply>((resolve, reject) => {
      sent.on('error', reject)
      sent.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const found = Buffer.concat(chunks).toString()
          const json: unknown = found === '' ? undefined : JSON.parse(found)
          resolve({ status: response.statusCode ?? 0, json })
        })
      })
    })
    reply.catch(() => {}) // who leaves does not want to know
    sent.end(text)
    return { reply, leave: () => void sent.destroy() }
  }

  /** Puts a model into the repository, and loads it. */
  async load(name: string, config: string, spec: Spec = rowsPlan()): Promise<void> {
    await this.loadFiles(name, { 'config.pbtxt': config, '1/model.plan': plan(spec) })
  }

  async loadFiles(name: string, files: Files): Promise<void> {
    this.write(Object.fromEntries(Object.entries(files).map(([path, content]) => [`${name}/${path}`, content])))
    const { status, json } = await this.ask('POST', `/v2/repository/models/${name}/load`).reply
    if (status !== 200) throw new Error(JSON.stringify(json))
  }

  write(files: Files): void {
    write(this.folder, files)
  }

  infer(model: string, rows: number, { priority, timeout, first = 0, version, mark }: InferOptions = {}): Asked {
    const data = Array.from({ length: rows * columns }, (_, i) => first + Math.floor(i / columns))
    const path = version === undefined ? `/v2/models/${model}` : `/v2/models/${model}/versions/${version}`
    return this.ask('POST', `${path}/infer${mark === undefined ? '' : `?mark=${mark}`}`, {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [rows, columns], data }],
      ...((priority !== undefined || timeout !== undefined) && { parameters: { priority, timeout } }),
    })
  }

  /** Sends it, and waits until it waits for a lane: the next one comes behind it. */
  async queue(model: string, rows: number, options: InferOptions = {}): Promise<Asked> {
    const before = await this.waiting(model)
    const asked = this.infer(model, rows, options)
    await this.untilWaiting(model, before + 1)
    return asked
  }

  async queueAll(model: string, rows: readonly number[], options: InferOptions = {}): Promise<Asked[]> {
    const all: Asked[] = []
    for (const each of rows) all.push(await this.queue(model, each, options))
    return all
  }

  async metric(name: string, model: string, more = ''): Promise<number> {
    const text = await (await fetch(this.server.addresses.metrics?.url ?? '')).text()
    const line = text.split('\n').find((each) => each.startsWith(`${name}{model="${model}"`) && each.includes(more))
    return line === undefined ? Number.NaN : Number(line.split(' ').at(-1))
  }

  /** Requests of a model that wait for a lane. */
  waiting(model: string): Promise<number> {
    return this.metric('nv_inference_pending_request_count', model)
  }

  async untilWaiting(model: string, count: number): Promise<void> {
    for (let tries = 0; (await this.waiting(model)) !== count; tries++)
      if (tries > 20_000) throw new Error(`it did not come to be that ${count} wait`)
  }

  async stats(model: string): Promise<any> {
    const { json } = await this.ask('GET', `/v2/models/${model}/stats`).reply
    return json.model_stats[0]
  }

  /** How many batches of which size have run, such as `{ 4: 2 }`. */
  async sizes(model: string): Promise<Readonly<Record<number, number>>> {
    const { batch_stats: sizes } = await this.stats(model)
    return Object.fromEntries(sizes.map((each: never) => [each['batch_size'], each['compute_infer']['count']]))
  }

  /** One after the other. */
  async inferAll(model: string, rows: readonly number[]): Promise<readonly Reply[]> {
    const replies: Reply[] = []
    for (const each of rows) replies.push(await this.infer(model, each).reply)
    return replies
  }

  /**
   * The device stands still, both slots of the model's only lane are taken by full batches of its own, and all that the
   * body asks for waits. Gives the sizes of the batches that left, without those two; the body gives what it has sent.
   */
  async held(
    model: string,
    most: number,
    body: () => Promise<readonly Asked[]>,
  ): Promise<readonly [sizes: Readonly<Record<number, number>>, replies: readonly Reply[]]> {
    driver.set({ computeMs: 1, clock: 'manual' })
    try {
      const blockers = [await this.taken(model, most, { priority: 1 }), await this.taken(model, most, { priority: 1 })]
      const asked = await body()
      driver.set({ computeMs: 0, clock: 'real' })
      await Promise.all(blockers.map(({ reply }) => reply))
      const settled = await Promise.allSettled(asked.map(({ reply }) => reply))
      const replies = settled.filter((each) => each.status === 'fulfilled').map(({ value }) => value)
      return [without(await this.sizes(model), most, 2), replies]
    } finally {
      driver.set({ computeMs: 0, clock: 'real' })
    }
  }

  /**
   * A full batch that a slot of the lane has taken (the second one only takes what is of the first level); the device
   * is to stand still.
   */
  async taken(model: string, rows: number, options: InferOptions = {}): Promise<Asked> {
    const { enqueues } = driver.stats()
    const asked = this.infer(model, rows, options)
    await certain(() => driver.stats().enqueues > enqueues)
    return asked
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    await this.server.close()
  }
}

function without(
  sizes: Readonly<Record<number, number>>,
  size: number,
  count: number,
): Readonly<Record<number, number>> {
  const left = (sizes[size] ?? 0) - count
  const others = Object.entries(sizes).filter(([each]) => Number(each) !== size)
  return Object.fromEntries(left > 0 ? [...others, [size, left]] : others)
}

/** A server of an empty repository, whose models come by {@link Serving.load}. */
export async function serving(
  t: { teardown(end: () => unknown): unknown },
  options: Partial<ServeOptions> = {},
): Promise<Serving> {
  const folder = temporaryFolder(t)
  const log: string[] = []
  const server = await serve({
    modelRepository: folder,
    http: place,
    metrics: place,
    modelControlMode: 'explicit',
    engine: { tensorrt: { library: family.path }, gpus: [0] },
    log: { verbose: 1, destination: { write: (line) => log.push(line) } },
    ...options,
  })
  return new Serving(folder, server, log)
}

/** config.pbtxt of {@link rowsPlan} on one lane. */
export function batched(most: number, dynamic: string, more = ''): string {
  return `max_batch_size: ${most} instance_group { count: 1 } dynamic_batching { ${dynamic} } ${more}`
}

/** What {@link rowsPlan} makes of the rows that {@link Serving.infer} sends. */
export function wantedRows(rows: number, first = 0): readonly number[] {
  return Array.from({ length: rows * columns }, (_, i) => (first + Math.floor(i / columns)) * 2 + 1)
}
