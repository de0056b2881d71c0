// Mutants of the recorded requests, sent to a server of ours with the recorded repository on onnxruntime.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { Random } from '../../support/random.js'
import { temporaryFolder } from '../../support/folders.js'
import { certain } from '../../support/waiting.js'
import type { Ask } from '../recorded/ask.js'
import { recordedAnswers } from '../recorded/compare.js'
import { fatalAsks } from '../recorded/asks/fatal.js'
import { writeServed } from '../recorded/onnx.js'
import { models } from '../recorded/repository.js'
import { asks } from '../recorded/requests.js'
import { decoded, type Framed, framed, modelOf } from './real/decoded.js'
import { exchange } from './real/exchange.js'
import { wrongWith } from './real/expected.js'
import { mutant } from './real/mutations.js'
import { handles, idle, type RealServer, startReal } from './real/server.js'
import { errorOf, get, type Reply } from './rig.js'

/**
 * Requests to be changed: all, for texts too, whose models ours refuses; and those that a Triton answered with tensors.
 */
export interface Sources {
  readonly all: readonly Ask[]
  readonly good: readonly Ask[]
}

export async function recordedSources(): Promise<Sources> {
  const answered = new Set(
    (await recordedAnswers()).filter(({ answers }) => answers[0]?.status === 200).map(({ name }) => name),
  )
  const isGood = ({ name, path }: Ask): boolean =>
    answered.has(name) && path.endsWith('/infer') && !path.includes('/bytes/')
  return { all: [...asks, ...fatalAsks], good: asks.filter(isGood) }
}

/**
 * What a client may be told with a 5xx without a fault of the server: it asks for what there is not, or for less time
 * than it takes.
 */
const meant: Readonly<Record<number, RegExp>> = {
  501: /^$|not supported|Unsupported compression type|file override is not allowed|not served yet/,
  503: /^$|Request timeout expired|is not at ready state/,
}

export interface Tally {
  readonly statuses: Map<number | string, number>
  /** Answers that were compared with a direct infer(). */
  compared: number
  slow: number
  readonly wrong: string[]
}

/** Sends so many, one after the other. */
export async function sendMutants(server: RealServer, count: number, seed: number, sources: Sources): Promise<Tally> {
  const random = new Random(seed)
  const tally: Tally = { statuses: new Map(), compared: 0, slow: 0, wrong: [] }
  for (let i = 0; i < count && tally.wrong.length < 20; i++) {
    const bytes = mutant(random.pick(random.chance(0.5) ? sources.good : sources.all), random)
    const wrong = await sendOne(server, bytes, tally).catch((error: unknown) => String(error))
    if (wrong !== undefined) tally.wrong.push(`mutant ${i}: ${wrong}\n${bytes.toString('latin1').slice(0, 1500)}`)
  }
  return tally
}

async function sendOne(server: RealServer, bytes: Buffer, tally: Tally): Promise<string | undefined> {
  const request = framed(bytes)
  const { reply, wasSlow } = await exchange(server.port, bytes, {
    isWhole: request.isWhole,
    isHead: request.method === 'HEAD',
  })
  const status = reply?.status ?? 'closed'
  tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
  if (wasSlow) tally.slow++
  if (reply === undefined)
    return request.isWhole && !wasSlow && !mayBeClosed(request)
      ? 'the connection was ended without an answer'
      : undefined
  const isText = request.method !== 'HEAD'
  if (reply.status >= 500 && !meant[reply.status]?.test(isText ? errorOf(reply) : ''))
    return `${reply.status} ${reply.body.toString()}`
  if (reply.status === 200 && isInference(reply)) return await wrongAnswer(server, request, reply, tally)
  return undefined
}

/** Node answers no CONNECT, nor what comes after the end of a request that says so. */
function mayBeClosed({ method }: Framed): boolean {
  return method === 'CONNECT'
}

function isInference({ headers, body }: Reply): boolean {
  return headers['content-encoding'] !== undefined || body.subarray(0, 200).includes('"model_version"')
}

async function wrongAnswer(
  { models }: RealServer,
  request: Framed,
  reply: Reply,
  tally: Tally,
): Promise<string | undefined> {
  const wanted = modelOf(request)
  if (wanted === undefined) return `200 for the path ${request.path}`
  const servable = models.snapshot.find(wanted.name, wanted.version)
  tally.compared++
  const wrong = await wrongWith(reply, servable, decoded(request, servable))
  return wrong === undefined ? undefined : `${wrong}: ${reply.body.toString('latin1').slice(0, 500)}`
}

/** Batches wait for a moment only, and requests as long as a busy machine takes. */
function withOtherTimes(config: string): string {
  return config
    .replace(/(?<=queue_delay_microseconds: )\d+/, '500')
    .replace(/(?<=default_timeout_microseconds: )\d+/, '60000000')
}

/** A server with the recorded models. */
export async function startRecorded(t: Test, jsonWorkerBytes: number): Promise<RealServer> {
  const repository = join(temporaryFolder(t), 'repository')
  await mkdir(repository)
  // what these requests mean is read by other code than the server's, which reads no texts
  const served = models.filter((model) => model.ports.every(({ datatype }) => datatype !== 'BYTES'))
  for (const model of served) await writeServed(repository, { ...model, config: withOtherTimes(model.config) })
  const loadModels = served.filter(({ loaded }) => loaded).map(({ name }) => name)
  return await startReal(repository, { loadModels, autoComplete: false }, { limits: { jsonWorkerBytes } })
}

/** Sends mutants to such a server, and looks at what they leave. */
export async function testMutants(t: Test, server: RealServer, count: number, seed: number): Promise<void> {
  const before = handles()
  const tally = await sendMutants(server, count, seed, await recordedSources())
  t.same(tally.wrong, [])
  t.comment(
    `${JSON.stringify([...tally.statuses])}, ${tally.compared} compared, ${tally.slow} answered only after the client had ended`,
  )
  t.ok(tally.compared > count / 10, 'some are as good as before')
  t.ok((tally.statuses.get(400) ?? 0) > count / 10)
  await idle(server)
  t.equal((await get(server.port, '/v2/health/live')).status, 200)
  t.ok(server.models.snapshot.all.length > 0)
  await certain(() => JSON.stringify(handles()) === JSON.stringify(before)) // no socket and no timer is left
}
