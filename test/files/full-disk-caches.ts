// Caches on a full disk: they keep nothing, and the engine, the plan or the calibration is used.
import { execFileSync } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Builder, Engine, EngineCache, Tensor } from '../../lib/index.js'
import { openForWhatComes } from '../../lib/onnxruntime/growing.js'
import { Calibrator } from '../../lib/quantization/index.js'
import { openLog } from '../../lib/serve/operations/log.js'
import { loadPeer } from '../../lib/serve/peers.js'
import { useFakes } from '../native/fakes.js'
import { addModel, identity } from '../support/models.js'
import type { Place, Round } from './full-disk-child.js'

const x = new Tensor('float32', Float32Array.of(1, 2, 3, 4), [1, 4])

export async function cacheRounds({ disk, round }: Place): Promise<Round[]> {
  const { fakes, trt10, rtx, driver } = await useFakes()
  driver.set({ computeCapability: '8.6', deviceName: 'Fake GPU' })
  const tensorrt = { library: fakes.trt10 }
  const rounds: Round[] = []

  const answered = async (options: object): Promise<number[]> => {
    await using engine = await Engine.load(addModel(7), { backend: 'tensorrt', cache: disk, ...options })
    return Array.from((await engine.infer(x)).data as Float32Array)
  }
  const builds = (): number => trt10.runtime.stats().builds.length
  for (const free of [0, 4096]) rounds.push(await round('engine', free, () => answered({ tensorrt })))
  const before = builds()
  const planned = async (): Promise<unknown> => {
    const { hit, path } = await new EngineCache({ folder: disk }).plan(addModel(7), { builder: { tensorrt } })
    return { hit, isKept: path !== undefined, builds: builds() - before }
  }
  rounds.push(await round('plan', 0, planned))
  rounds.push(await round('plan with room', 2 ** 20, planned, { again: true }))
  rounds.push(await round('plan that was kept', 0, planned, { again: true }))
  execFileSync('mount', ['-o', 'remount,ro', disk])
  rounds.push(await readOnly())
  execFileSync('mount', ['-o', 'remount,rw', disk])

  const onRtx = { tensorrt: { library: rtx.path } }
  rounds.push(await round('runtime cache with room', 2 ** 20, () => answered(onRtx)))
  for (const name of rounds.at(-1)!.files.filter((each) => each.endsWith('.runtime'))) await rm(join(disk, name))
  rounds.push(await round('runtime cache', 0, () => answered(onRtx), { again: true }))

  const timed = async (isolation: 'none' | 'process'): Promise<unknown> => {
    await using builder = new Builder({ tensorrt, isolation, timingCache: join(disk, 'timing.cache') })
    return (await builder.build(addModel(7))).info.timingCache
  }
  for (const free of [0, 2 ** 20]) rounds.push(await round('timing cache', free, () => timed('none')))
  rounds.push(await round('timing cache of a process', 0, () => timed('process')))

  const ranged = async (): Promise<unknown> => {
    const options = { backend: 'tensorrt', tensorrt, cache: disk } as const
    const session = await openForWhatComes(identity('float32', ['N', 2]), options, silent, undefined)
    const { y } = await session.infer({ x: Tensor.zeros('float32', [3, 2]) }, { outputs: ['y'], into: {} })
    await session.close()
    return y?.shape
  }
  rounds.push(await round('range', 0, ranged))

  const calibrated = async (): Promise<unknown> => {
    const calibrator = new Calibrator([x], { cache: join(disk, 'calibration.json') })
    return (await calibrator.calibrate(addModel(7))).batches
  }
  rounds.push(await round('calibration', 0, calibrated))
  rounds.push(await round('log', 0, () => logged(join(disk, 'server.log'), join(disk, 'filler'))))
  return rounds

  /** A folder that can only be read is an error at the first look, before anything is built. */
  async function readOnly(): Promise<Round> {
    const before = builds()
    const plan = new EngineCache({ folder: disk }).plan(addModel(8), { builder: { tensorrt } })
    const { code = 'done', message } = (await plan.catch((reason: unknown) => reason)) as Error & { code?: string }
    const told = { details: undefined, files: [], isOldKept: true, warnings: [] }
    return { what: 'read-only', free: 0, code, message, value: builds() - before, ...told }
  }
}

const silent = { logSeverity: 4, logId: undefined }

/** Logs lines while the disk is full, and one when it has room again. */
async function logged(path: string, filler: string): Promise<string[]> {
  const pino = await loadPeer('pino')
  const settings = { verbose: 0, info: true, warning: true, error: true, format: 'default' } as const
  using log = await openLog(pino, { ...settings, file: path, destination: undefined })
  for (let i = 0; i < 3; i++) log.info({}, `full ${i}`)
  await rm(filler)
  log.info({}, 'room')
  const lines = (await readFile(path, 'utf8')).trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
}
