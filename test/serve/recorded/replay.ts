// A server of ours with the recorded models, and what its answers have in place of a real Triton's.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { serve, type Server } from '../../../lib/serve/index.js'
import { type Answer, type Ask, askAll, recordOf, type RecordedAsk } from './ask.js'
import {
  answerDifference,
  type Difference,
  lines,
  type Meant,
  named,
  meantDifferences,
  meantTypes,
  type RecordedConfig,
  tellsLogged,
} from './compare.js'
import { configAnswer } from './configs.js'
import { writeServed } from './onnx.js'
import type { RecordedModel } from './repository.js'

export interface Served extends AsyncDisposable {
  readonly server: Server
  readonly port: number
  readonly grpcPort: number
  readonly repository: string
}

export const meant = await meantDifferences()
/** Content types that differed as they may, theirs and ours. */
export const typesSeen = new Set<string>()
const found: Record<string, Record<string, Difference>> = {}

/** With RECORDED_DIFFERENCES=FOLDER, all that differs goes there, in a file for each kind. */
export async function writeFound(): Promise<void> {
  const folder = process.env['RECORDED_DIFFERENCES']
  if (folder === undefined) return
  await mkdir(folder, { recursive: true })
  for (const [what, differing] of Object.entries(found))
    await writeFile(join(folder, `${what}.json`), JSON.stringify(differing, null, 1))
}

/**
 * A second for what is rejected after a tenth of one in the record, and a minute until its batch leaves: on a busy
 * machine a full batch is taken before, and a request that waits alone is rejected before.
 */
const patient = (model: RecordedModel): RecordedModel =>
  model.name === 'rejects'
    ? {
        ...model,
        config: model.config
          .replace('timeout_microseconds: 100000 ', 'timeout_microseconds: 1000000 ')
          .replace('1500000', '60000000'),
      }
    : model

/** A server of ours with these models; those that are `loaded` are. */
export async function served(models: readonly RecordedModel[]): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), 'recorded-serve-'))
  const repository = join(folder, 'repository')
  await mkdir(repository)
  for (const model of models) await writeServed(repository, patient(model))
  const server = await serve({
    modelRepository: repository,
    http: { port: 0, address: '127.0.0.1' },
    grpc: { port: 0, address: '127.0.0.1' },
    modelControlMode: 'explicit',
    loadModel: models.filter(({ loaded }) => loaded).map(({ name }) => name),
    exitOnError: false,
    disableAutoCompleteConfig: true,
  })
  return {
    server,
    repository,
    port: server.addresses.http?.port ?? 0,
    grpcPort: server.addresses.grpc?.port ?? 0,
    async [Symbol.asyncDispose]() {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export function difference(theirs: Answer | undefined, ours: Answer | undefined): Difference {
  return answerDifference(byModel(theirs), byModel(ours), (theirs, ours) => {
    const isMeant = meantTypes(meant).has(`${theirs} ${ours}`)
    if (isMeant) typesSeen.add(`${theirs} ${ours}`)
    return isMeant
  })
}

/** Index and statistics by name and version. */
function byModel(answer: Answer | undefined): Answer | undefined {
  const { json } = answer ?? {}
  const list = (json as { readonly model_stats?: unknown } | undefined)?.model_stats ?? json
  if (answer === undefined || !Array.isArray(list)) return answer
  return { ...answer, json: namedOnes(list as readonly Named[]) }
}

interface Named {
  readonly name?: string
  readonly version?: string
}

export const namedOnes = (list: readonly Named[]): Readonly<Record<string, Named>> =>
  Object.fromEntries(list.map((entry) => [`${String(entry.name)}/${entry.version ?? ''}`, entry] as const))

export function add(differing: Record<string, Difference>, name: string, difference: Difference): void {
  if (Object.keys(difference).length > 0) differing[name] = difference
}

/** What differs is what is meant to, and all of that does. */
export function compare(t: Test, what: string, differing: Record<string, Difference>, meant: readonly Meant[]): void {
  found[what] = differing
  const listed = Object.assign({}, ...meant.map(({ ours }) => ours)) as Record<string, Difference>
  t.equal(
    Object.keys(listed).length,
    meant.flatMap(({ ours }) => Object.keys(ours)).length,
    `${what}: each is listed once`,
  )
  for (const name of new Set([...Object.keys(differing), ...Object.keys(listed)])) {
    if (differing[name] === undefined) t.fail(`${what}: '${name}' does not differ any more: take it off the list`)
    else if (listed[name] === undefined)
      t.fail(`${what}: '${name}' differs, and is not listed: ${JSON.stringify(differing[name])}`)
    else t.same(differing[name], listed[name], `${what}: '${name}' differs as listed`)
  }
}

/** Sends all these requests, and compares what comes with the record in that file. */
export async function requestDifferences(
  t: Test,
  file: string,
  asks: readonly Ask[],
  port: number,
): Promise<Record<string, Difference>> {
  const records = new Map((await lines<RecordedAsk>(file)).map((record) => [record.name, record]))
  t.same([...records.keys()].sort(), asks.map(({ name }) => name).sort(), 'the record is of these requests')
  const differing: Record<string, Difference> = {}
  await askAll(asks, port, (ask, answers) => {
    const { answers: theirs = [], ...asked } = records.get(ask.name) ?? {}
    const { answers: ours, ...asking } = recordOf(ask, answers)
    if (JSON.stringify(asked) !== JSON.stringify(asking))
      t.fail(`the record of '${ask.name}' is of another request: record it anew`)
    const each = ours.map((answer, i) => [ours.length > 1 ? String(i) : '', difference(theirs[i], answer)] as const)
    add(differing, ask.name, named(each))
  })
  return differing
}

/**
 * Each config is put into the repository, loaded, and asked for.
 *
 * @param stays whether the files stay; else they go, since a load looks at all of a repository
 * @returns what differs, and how many are refused for the very reason that a Triton has in its log alone
 */
export async function configDifferences(
  t: Test,
  { repository, port }: Served,
  configs: readonly RecordedModel[],
  recorded: readonly RecordedConfig[],
  stays = false,
): Promise<{ readonly differing: Record<string, Difference>; readonly logged: number }> {
  const records = new Map(recorded.map((record) => [record.name, record]))
  t.same([...records.keys()].sort(), configs.map(({ name }) => name).sort(), 'the record is of these configs')
  let logged = 0
  const differing: Record<string, Difference> = {}
  for (const config of configs) {
    const record = records.get(config.name)
    if (record?.text !== config.config) t.fail(`the record of '${config.name}' is of another config: record it anew`)
    if (!stays) await writeServed(repository, config)
    const answer = await configAnswer(config, port)
    if (!stays) await rm(join(repository, config.name), { recursive: true })
    if (record !== undefined && tellsLogged(record, answer.load)) {
      logged++
      continue
    }
    const each = [
      ['load', difference(record?.load, answer.load)],
      ['config', difference(record?.config, answer.config)],
    ] as const
    add(differing, config.name, named(each))
  }
  return { differing, logged }
}
