/** The execution core on onnxruntime, beside onnxruntime-node with the same session options. */
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { faceDetectorModel } from '../examples/face-detector/model.js'
import { Engine, type EngineOptions, Tensor } from '../lib/index.js'
import { identity } from '../test/support/models.js'
import { realModels } from '../test/support/real-models.js'
import {
  interleaved,
  keepInFlight,
  loopDelay,
  microsecondsPerCall,
  oneAfterAnother,
  throughput,
} from './support/measure.js'
import { rowsOfBench, runParts } from './support/parts.js'
import { onnxruntimeIdentity, onnxruntimeModel, onnxruntimeVersion, wave } from './support/peers.js'
import { merged } from '../test/support/groups.js'
import { flags, isQuick, roundsOf } from './support/quick.js'
import { machine, note, row, type Row } from './support/report.js'

/** One thread for each inference, as all peers have. */
const load = (model: Uint8Array | string, options: EngineOptions = {}): Promise<Engine> =>
  Engine.load(model, merged({ backend: 'cpu', cpu: { threads: 1 } }, options))

const tensor = (shape: readonly number[]): Tensor => new Tensor('float32', wave(shape), shape)

/**
 * Microseconds of one call after another, beside the same on the fake device of bench core, each in processes of its
 * own.
 */
async function* alone(): AsyncGenerator<Row> {
  note('calls one after another …')
  const pairs = roundsOf(9)
  const program = fileURLToPath(new URL('support/alone.js', import.meta.url))
  // two threads that wake each other: whether they share a core decides more than what they do
  for (const [where, ...command] of [['on any core'], ['on one core', 'taskset', '-c', '0']]) {
    const on = async (runtime: string): Promise<number> => {
      const [file = '', ...args] = [...command, process.execPath, program, runtime, ...(isQuick ? ['--quick'] : [])]
      return Number((await promisify(execFile)(file, args)).stdout)
    }
    const time = await interleaved(pairs, { ours: () => on('cpu'), peer: () => on('fake') })
    const what = `infer, one after another, ${where ?? ''}`
    const peer = `peer: the same on the fake device of bench core, which takes no time; ${pairs} pairs of processes`
    yield row(what, 'µs', time.ours, time.peer, { of: 'difference', sign: '<=', value: 3 }, peer)
  }
}

interface RealModel {
  readonly name: string
  readonly model: Uint8Array | string
  readonly shape: readonly number[]
}
const faces = async (batch: number | 'N'): Promise<RealModel> => ({
  name: 'face detector',
  model: await faceDetectorModel({ batch }),
  shape: [1, 3, 416, 416],
})
const detector: RealModel = { name: "PP-OCR's detector", model: realModels.detector, shape: [1, 3, 320, 320] }
const reader: RealModel = { name: "PP-OCR's recognizer", model: realModels.reader, shape: [1, 3, 48, 320] }

/** Microseconds of one call of 16 floats. */
async function calls(): Promise<Row[]> {
  note('calls of 16 floats …')
  const rounds = roundsOf(9)
  const engine = await load(identity('float32', [16]))
  const x = new Tensor('float32', new Float32Array(16), [16])
  const peer = await onnxruntimeIdentity(16)
  const time = await interleaved(rounds, {
    many: () => microsecondsPerCall(40_000, (count) => keepInFlight(64, count, () => engine.infer(x))),
    manyPeer: () => microsecondsPerCall(20_000, (count) => keepInFlight(64, count, peer.run)),
    sync: () =>
      microsecondsPerCall(10_000, async (count) => {
        for (let i = 0; i < count; i++) engine.inferSync(x)
      }),
    syncPeer: () => microsecondsPerCall(5_000, (count) => oneAfterAnother(count, peer.run)),
  })
  await Promise.all([peer.release(), engine.close()])
  const onnxruntime = `peer: onnxruntime-node, Identity of 16 floats; ${rounds} rounds`
  const half = { of: 'ratio', sign: '<=', value: 0.5 } as const
  return [
    row('inferSync, one after another', 'µs', time.sync, time.syncPeer, half, onnxruntime),
    row('infer, 64 in flight, per call', 'µs', time.many, time.manyPeer, half, onnxruntime),
  ]
}

/** Milliseconds of an inference of a real model, in alternating pairs. */
async function* models(): AsyncGenerator<Row> {
  for (const { name, model, shape } of [detector, await faces(1)]) {
    note(`${name} …`)
    const rounds = roundsOf(30)
    const engine = await load(model)
    const peer = await onnxruntimeModel(model, shape)
    const x = tensor(shape)
    const time = await interleaved(rounds, {
      ours: () => microsecondsPerCall(1, () => engine.infer(x)),
      peer: () => microsecondsPerCall(1, peer.run),
    })
    await Promise.all([peer.release(), engine.close()])
    yield row(
      `infer, ${name}, ${shape.join('x')}`,
      'ms',
      time.ours / 1000,
      time.peer / 1000,
      { of: 'ratio', sign: '<=', value: 1.05 },
      `peer: onnxruntime-node, one thread each; median of ${rounds} alternating pairs`,
    )
  }
}

/** Milliseconds that the event loop is late while a real model runs, beyond what it is when idle. */
async function* eventLoop(): AsyncGenerator<Row> {
  note('event-loop delay …')
  const rounds = roundsOf(7)
  for (const { name, model, shape } of [detector, await faces(1)]) {
    const engine = await load(model)
    const peer = await onnxruntimeModel(model, shape)
    const x = tensor(shape)
    const late = await interleaved(rounds, {
      idle: () => loopDelay(400, () => sleep(100)),
      ours: () => loopDelay(400, () => keepInFlight(2, 8, () => engine.infer(x))),
      peer: () => loopDelay(100, () => keepInFlight(2, 4, peer.run)),
    })
    await Promise.all([peer.release(), engine.close()])
    yield row(
      `event-loop delay, p99 above idle, ${name}`,
      'ms',
      late.ours - late.idle,
      late.peer - late.idle,
      { of: 'ours', sign: '<', value: 2, isRemainder: true },
      `peer: onnxruntime-node; two in flight; idle p99 ${late.idle.toFixed(2)} ms; ${rounds} rounds`,
    )
  }
}

/** Throughput of two lanes against one, one thread each. */
async function* lanes(): AsyncGenerator<Row> {
  note('lanes …')
  const rounds = roundsOf(7)
  for (const { name, model, shape } of [detector, await faces(1)]) {
    const [one, two] = [await load(model), await load(model, { lanes: 2 })]
    const x = tensor(shape)
    const rate = await interleaved(rounds, {
      two: () => throughput(4, 12, () => two.infer(x)),
      one: () => throughput(4, 12, () => one.infer(x)),
    })
    await Promise.all([one.close(), two.close()])
    yield row(
      `two lanes, ${name}`,
      '/s',
      rate.two,
      rate.one,
      { of: 'ratio', sign: '>=', value: 1.8 },
      `peer: one lane, one thread each; ${rounds} rounds`,
    )
  }
}

/** What merging 16 requests gains, against what onnxruntime-node itself gains from a batch of 16. */
async function* batching(): AsyncGenerator<Row> {
  note('batching …')
  const rounds = roundsOf(5)
  for (const { name, model, shape } of [reader, await faces('N')]) {
    const most = 16
    const [single, merging] = [await load(model), await load(model, { batching: { maxBatch: most, maxDelayMs: 1000 } })]
    const [peer, peerBatch] = [
      await onnxruntimeModel(model, shape),
      await onnxruntimeModel(model, [most, ...shape.slice(1)]),
    ]
    const x = tensor(shape)
    const time = await interleaved(rounds, {
      merged: () => microsecondsPerCall(most, (count) => keepInFlight(most, count, () => merging.infer(x))),
      single: () => microsecondsPerCall(most, (count) => keepInFlight(most, count, () => single.infer(x))),
      peerBatch: () => microsecondsPerCall(most, () => peerBatch.run()),
      peer: () => microsecondsPerCall(most, (count) => oneAfterAnother(count, peer.run)),
    })
    await Promise.all([single.close(), merging.close(), peer.release(), peerBatch.release()])
    yield row(
      `gain of merging ${most} requests, ${name}`,
      'x',
      time.single / time.merged,
      time.peer / time.peerBatch,
      { of: 'ratio', sign: '>=', value: 0.9 },
      `peer: what onnxruntime-node gains from a batch of ${most}; one thread each; ${rounds} rounds`,
    )
  }
}

/** The soak, in a process of its own: nothing else moves its memory. */
function soak(): Promise<readonly Row[]> {
  note('soak …')
  return rowsOfBench('soak', ['--cpu'])
}

const { values, positionals } = parseArgs({ options: flags, allowPositionals: true })
const parts = { calls, alone, models, eventLoop, lanes, batching, soak }

const probe = await load(identity('float32', [16]))
const on = machine({ peers: onnxruntimeVersion(), runtime: probe.description })
await probe.close()
await runParts(parts, positionals, { bench: 'cpu', machine: on, json: values.json })
