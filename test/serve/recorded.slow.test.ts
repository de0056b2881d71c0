// Ours gives the answers that a real Triton gave (scripts/record-triton.mjs), but for what test/serve/recorded/differences.json lists, each with its reason.
// With RECORDED_DIFFERENCES=FILE, all that differs goes to that file.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serve, type Server } from '../../lib/serve/index.js'
import { askAll, type Answer, recordOf } from './recorded/ask.js'
import { fatalAsks } from './recorded/asks/fatal.js'
import {
  type Difference,
  named,
  answerDifference,
  type Meant,
  meantDifferences,
  meantTypes,
  recordedAnswers,
  recordedConfigs,
  tellsLogged,
} from './recorded/compare.js'
import { configAnswer, configs } from './recorded/configs.js'
import { isServed, writeServed } from './recorded/onnx.js'
import { models, type RecordedModel } from './recorded/repository.js'
import { asks } from './recorded/requests.js'

const meant = await meantDifferences()
const typesSeen = new Set<string>()
const found: Record<string, Record<string, Difference>> = {}
/** Models of strings, which ours refuses. */
const leftOut = new Set(models.filter((model) => !isServed(model)).map(({ name }) => name))
const isLeftOut = (path: string) => leftOut.has(path.split('/')[3] ?? '')

t.teardown(async () => {
  const file = process.env['RECORDED_DIFFERENCES']
  if (file !== undefined) await writeFile(file, JSON.stringify(found, null, 1))
})

await t.test('the requests', async (t) => {
  const records = new Map((await recordedAnswers()).map((record) => [record.name, record]))
  t.same([...records.keys()].sort(), asks.map(({ name }) => name).sort(), 'the record is of these requests')
  await using serving = await served(models)
  const differing: Record<string, Difference> = {}
  await askAll(
    asks.filter(({ path }) => !isLeftOut(path)),
    serving.port,
    (ask, answers) => {
      const { answers: theirs = [], ...asked } = records.get(ask.name) ?? {}
      const { answers: ours, ...asking } = recordOf(ask, answers)
      if (JSON.stringify(asked) !== JSON.stringify(asking)) t.fail(`the record of '${ask.name}' is of another request: record it anew`)
      const each = ours.map((answer, i) => [ours.length > 1 ? String(i) : '', difference(theirs[i], answer)] as const)
      add(differing, ask.name, named(each))
    },
  )
  compare(t, 'requests', differing, meant.requests)
  const fatal = fatalAsks.filter(({ path }) => !isLeftOut(path))
  await askAll(fatal, serving.port, (ask, [answer]) => void t.equal(answer?.status, 400, `${ask.name}, at which a Triton ends`))
})

await t.test('the configs', async (t) => {
  const records = new Map((await recordedConfigs()).map((record) => [record.name, record]))
  t.same([...records.keys()].sort(), configs.map(({ name }) => name).sort(), 'the record is of these configs')
  const ours = configs.filter(isServed)
  await using serving = await served([])
  let logged = 0
  const differing: Record<string, Difference> = {}
  for (const config of ours) {
    const record = records.get(config.name)
    if (record?.text !== config.config) t.fail(`the record of '${config.name}' is of another config: record it anew`)
    await writeServed(serving.repository, config)
    const answer = await configAnswer(config, serving.port)
    await rm(join(serving.repository, config.name), { recursive: true }) // a load looks at all of a repository
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
  compare(t, 'configs', differing, meant.configs)
  t.equal(logged > 0, meant.logged !== undefined, 'reasons that a Triton has in its log alone')
})

t.test('every content type that may differ does', (t) => {
  t.same([...typesSeen].sort(), meant.types.map(({ theirs, ours }) => `${theirs} ${ours}`).sort())
  t.end()
})

/** A server of ours with these models; those that are `loaded` are. */
async function served(served: readonly RecordedModel[]): Promise<AsyncDisposable & { readonly port: number; readonly repository: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'recorded-serve-'))
  const repository = join(folder, 'repository')
  await mkdir(repository)
  for (const model of served) if (isServed(model)) await writeServed(repository, model)
  const server: Server = await serve({
    modelRepository: repository,
    http: { port: 0, address: '127.0.0.1' },
    modelControlMode: 'explicit',
    loadModel: served.filter((model) => model.loaded && isServed(model)).map(({ name }) => name),
    exitOnError: false,
    disableAutoCompleteConfig: true,
  })
  return {
    repository,
    port: server.addresses.http?.port ?? 0,
    async [Symbol.asyncDispose]() {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function difference(theirs: Answer | undefined, ours: Answer | undefined): Difference {
  return answerDifference(byModel(theirs), byModel(ours), (theirs, ours) => {
    const isMeant = meantTypes(meant).has(`${theirs} ${ours}`)
    if (isMeant) typesSeen.add(`${theirs} ${ours}`)
    return isMeant
  })
}

/** Index and statistics by name and version, without the models that ours has not. */
function byModel(answer: Answer | undefined): Answer | undefined {
  const { json } = answer ?? {}
  const list = (json as { readonly model_stats?: unknown } | undefined)?.model_stats ?? json
  if (answer === undefined || !Array.isArray(list)) return answer
  const entries = (list as { readonly name?: string; readonly version?: string }[])
    .filter(({ name }) => !leftOut.has(String(name)))
    .map((entry) => [`${String(entry.name)}/${entry.version ?? ''}`, entry] as const)
  return { ...answer, json: Object.fromEntries(entries) }
}

function add(differing: Record<string, Difference>, name: string, difference: Difference): void {
  if (Object.keys(difference).length > 0) differing[name] = difference
}

/** What differs is what is meant to, and all of that does. */
function compare(t: Test, what: string, differing: Record<string, Difference>, meant: readonly Meant[]): void {
  found[what] = differing
  const listed = Object.assign({}, ...meant.map(({ ours }) => ours)) as Record<string, Difference>
  t.equal(Object.keys(listed).length, meant.flatMap(({ ours }) => Object.keys(ours)).length, `${what}: each is listed once`)
  for (const name of new Set([...Object.keys(differing), ...Object.keys(listed)])) {
    if (differing[name] === undefined) t.fail(`${what}: '${name}' does not differ any more: take it off the list`)
    else if (listed[name] === undefined) t.fail(`${what}: '${name}' differs, and is not listed: ${JSON.stringify(differing[name])}`)
    else t.same(differing[name], listed[name], `${what}: '${name}' differs as listed`)
  }
}
