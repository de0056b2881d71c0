// Mutated models go to the real parser and builder of TensorRT-RTX, in processes of their own: whatever they do there,
// this process lives, and what comes back is a result or a typed error. TRT_FUZZ_SEED=n begins elsewhere; mutant i of a
// run is always the same.
import { createHash } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isAbsolute, join, normalize } from 'node:path'
import t from 'tap'
import type {
  NativeBuildOptions,
  NativeBuildRequest,
  NativeParseResult,
  NativeProfile,
} from '../../../lib/backend/native-types.js'
import { checkedBuilderOptions } from '../../../lib/building/options.js'
import { IsolatedBuilds } from '../../../lib/building/isolated.js'
import { errorCodes, TensorRTError } from '../../../lib/index.js'
import { externalFiles } from '../../../lib/onnx/index.js'
import { parseModel } from '../../../lib/onnx/model.js'
import { temporaryFolder } from '../../support/folders.js'
import { rtxPath, skipWithoutRtx } from '../../support/tensorrt.js'
import { buildingProcesses, contents } from '../processes.js'
import { type Mutant, mutant } from './mutate.js'
import { Random } from '../../support/random.js'
import { type Seed, seeds } from './seeds.js'
import { size } from '../../support/tiers.js'

const firstSeed = Number(process.env['TRT_FUZZ_SEED'] ?? 20_261_121)
const parses = Number(process.env['TRT_FUZZ_PARSES'] ?? size(300, 20_000))
const builds = Number(process.env['TRT_FUZZ_BUILDS'] ?? size(5, 500))
const parseLimitMs = 5000
/** A builder that is cut works on a core until then; most builds take less than a second. */
const buildLimitMs = size(6000, 15_000)
/** A process that takes more than this is ended, as the kernel would, for the sake of the others on this machine. */
const mostMemory = 3 * 2 ** 30

/** What came of the mutants, in figures. */
class Tally {
  readonly counts: Record<string, number> = {}
  readonly crashes: string[] = []
  readonly hangs: string[] = []
  readonly problems: string[] = []

  failed(error: unknown, who: string): void {
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      this.count('cut by the time limit')
      this.hangs.push(who)
      return
    }
    if (!(error instanceof TensorRTError) || !Object.hasOwn(errorCodes, error.code)) {
      this.problems.push(`${who}: ${String(error)}`)
      return
    }
    if (error.code !== 'ERR_TRT_CRASH') return this.count(error.code)
    const { signal, exitCode } = error.details as { signal: string | null; exitCode: number | null }
    this.count(`ERR_TRT_CRASH ${signal ?? `exit ${exitCode}`}`)
    this.crashes.push(`${who}: ${error.message}${error.log.length > 0 ? ` | ${error.log.at(-1)}` : ''}`)
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  tell(title: string, seconds: number): void {
    const figures = Object.entries(this.counts)
      .sort(([, a], [, b]) => b - a)
      .map(([what, count]) => `${count} ${what}`)
    const list = [...this.crashes, ...this.hangs.map((who) => `${who}: cut by the time limit`)]
    process.stderr.write(
      [
        `fuzz: ${title} in ${seconds.toFixed(0)} s: ${figures.join(', ')}`,
        ...list.map((line) => `  ${line.slice(0, 400)}`),
        '',
      ].join('\n'),
    )
  }
}

/** Models that keep weights in files lie in one folder, beside what they may read, and below what they may not. */
const outside = temporaryFolder(t)
const folder = join(outside, 'models')
mkdirSync(folder)
for (const path of [join(outside, 'secret.bin'), join(folder, 'weights.bin')])
  writeFileSync(path, new Uint8Array(2 ** 20))
symlinkSync(join(outside, 'secret.bin'), join(folder, 'link.bin'))

/** Each worker takes the next of them, until there are none. */
async function forEach(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
}

const nth = (all: readonly Seed[], index: number): Mutant => mutant(all, new Random(firstSeed + index * 7919))
const title = ({ seed, mutations }: Mutant, index: number): string => `#${index} ${seed}: ${mutations.join(', ')}`

/** By path where weights are to be found beside it, else by its bytes. */
function sourceOf({ bytes, mutations }: Mutant, index: number): Pick<NativeBuildRequest, 'path' | 'model'> {
  if (!mutations.includes('external data') || index % 4 === 0) return { model: bytes }
  const path = join(folder, `${index % 16}.onnx`)
  writeFileSync(path, bytes)
  return { path }
}

function leadsOutside({ bytes }: Mutant): boolean {
  const leads = (file: string): boolean => isAbsolute(file) || normalize(file).startsWith('..') || file === 'link.bin'
  try {
    return externalFiles(parseModel(bytes)).some(leads)
  } catch {
    return false // no model
  }
}

/** A profile that any parsed model takes: 1 for the batch, 32 for the rest. */
const profileOf = ({ inputs }: NativeParseResult): NativeProfile =>
  inputs.map(({ name, shape }) => {
    const fixed = shape.map((dim, i) => (dim >= 0 ? dim : i === 0 ? 1 : 32))
    return { name, min: fixed, opt: fixed, max: fixed }
  })

function watchMemory(): () => void {
  const timer = setInterval(() => {
    for (const pid of buildingProcesses()) {
      const pages = Number(contents(`/proc/${pid}/statm`).split(' ')[1])
      if (pages * 4096 > mostMemory) process.kill(pid, 'SIGKILL')
    }
  }, 200)
  return () => clearInterval(timer)
}

t.test('the same numbers give the same mutants, and other ones others', async (t) => {
  const all = await seeds()
  const digests = (): string[] =>
    Array.from({ length: 60 }, (_, i) => createHash('sha256').update(nth(all, i).bytes).digest('hex'))
  t.same(digests(), digests())
  t.ok(new Set(digests()).size > 55)
})

t.test('mutated models', { skip: skipWithoutRtx, timeout: 0 }, async (t) => {
  const all = await seeds()
  const isolated = new IsolatedBuilds()
  t.teardown(() => isolated.close())
  t.teardown(watchMemory())
  const base = checkedBuilderOptions({ tensorrt: { library: rtxPath } })
  const run = (
    request: Omit<NativeBuildRequest, keyof NativeBuildOptions>,
    limitMs: number,
  ): Promise<NativeParseResult> =>
    isolated.build({ ...base, ...request }, undefined, AbortSignal.timeout(limitMs)).result
  const parse = (mutant: Mutant, index: number): Promise<NativeParseResult> =>
    run({ ...sourceOf(mutant, index), profiles: [], parseOnly: 1 }, parseLimitMs)

  for (const { name, bytes } of all)
    await t.resolves(run({ model: bytes, profiles: [], parseOnly: 1 }, 60_000), `${name} parses as it is`)

  const accepted: number[] = []
  const parsed = new Tally()
  const begun = performance.now()
  await forEach(parses, async (index) => {
    const one = nth(all, index)
    try {
      await parse(one, index)
      parsed.count('parsed')
      if (one.bytes.length < 2 ** 21) accepted.push(index)
      if (leadsOutside(one))
        parsed.problems.push(`${title(one, index)}: parsed with weights from outside of its folder`)
    } catch (error) {
      parsed.failed(error, title(one, index))
    }
  })
  parsed.tell(`${parses} mutants to the parser`, (performance.now() - begun) / 1000)
  t.same(parsed.problems, [], 'each is a result or a typed error')
  t.ok((parsed.counts['parsed'] ?? 0) > parses / 20, 'some are taken')
  t.ok((parsed.counts['ERR_TRT_ONNX_PARSE'] ?? 0) > parses / 20, 'some are not')

  const built = new Tally()
  const since = performance.now()
  accepted.sort((a, b) => a - b)
  await forEach(Math.min(builds, accepted.length), async (nth_) => {
    const index = accepted[nth_] ?? 0
    const one = nth(all, index)
    try {
      const source = sourceOf(one, index)
      const facts = await run({ ...source, profiles: [], parseOnly: 1 }, parseLimitMs)
      await run({ ...source, profiles: [profileOf(facts)] }, buildLimitMs)
      built.count('built')
    } catch (error) {
      built.failed(error, title(one, index))
    }
  })
  built.tell(
    `${Math.min(builds, accepted.length)} mutants, which the parser took, to the builder`,
    (performance.now() - since) / 1000,
  )
  t.ok(accepted.length >= builds, 'there are enough that the parser takes')
  t.same(built.problems, [], 'each is a plan or a typed error')
  t.ok((built.counts['built'] ?? 0) > 0, 'some become plans')
})
