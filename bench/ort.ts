/** `node-tensorrt/onnxruntime` beside onnxruntime-node, the same programs on both. */
import { parseArgs } from 'node:util'
import type { InferenceSession, Tensor as OrtTensor, TensorConstructor } from 'onnxruntime-common'
import * as theirs from 'onnxruntime-node'
import { Engine } from '../lib/index.js'
import * as ours from '../lib/onnxruntime/entry.js'
import { identity } from '../test/support/models.js'
import { caches, emptyShape, size, tinyDecoder } from './support/decoder.js'
import { interleaved, keepInFlight, microsecondsPerCall, oneAfterAnother } from './support/measure.js'
import { runParts } from './support/parts.js'
import { onnxruntimeVersion, type Peer } from './support/peers.js'
import { flags, roundsOf, scaled } from './support/quick.js'
import { reading } from './support/reading.js'
import { machine, note, row, type Row } from './support/report.js'

/** What both modules have. */
interface Module {
  readonly InferenceSession: {
    create(model: Uint8Array, options: InferenceSession.SessionOptions): Promise<InferenceSession>
  }
  readonly Tensor: TensorConstructor
}

/** One thread for each: the peer computes on JavaScript's own, and what else the machine does disturbs less. */
const options: InferenceSession.SessionOptions = { executionProviders: ['cpu'], intraOpNumThreads: 1 }
const open = ({ InferenceSession }: Module, model: Uint8Array): Promise<InferenceSession> =>
  InferenceSession.create(model, options)

/** Microseconds of a call of 16 floats. */
async function calls(): Promise<Row[]> {
  note('Identity of 16 floats …')
  const rounds = roundsOf(15)
  const model = identity('float32', [16])
  const session = async (module: Module): Promise<Peer> => {
    const opened = await open(module, model)
    const feeds = { x: new module.Tensor('float32', new Float32Array(16), [16]) }
    return { run: () => opened.run(feeds), release: () => opened.release() }
  }
  const [our, their] = [await session(ours), await session(theirs)]
  const alone = (run: () => Promise<unknown>) => () =>
    microsecondsPerCall(5_000, (count) => oneAfterAnother(count, run))
  const many = (run: () => Promise<unknown>) => () =>
    microsecondsPerCall(20_000, (count) => keepInFlight(64, count, run))
  const time = await interleaved(rounds, {
    alone: alone(our.run),
    alonePeer: alone(their.run),
    many: many(our.run),
    manyPeer: many(their.run),
  })
  await Promise.all([our.release(), their.release()])
  const told = `peer: onnxruntime-node, one thread each; ${rounds} rounds`
  return [
    row(
      'session.run of an Identity, one after another',
      'µs',
      time.alone,
      time.alonePeer,
      { of: 'ratio', sign: '<=', value: 1.2 },
      told,
    ),
    row('the same, 64 in flight', 'µs', time.many, time.manyPeer, { of: 'ratio', sign: '<=', value: 0.6 }, told),
  ]
}

type Feeds = Record<string, OrtTensor>

/** The tokens that a decoder gives, each the best after those before it; what a step gives is what the next takes. */
async function generate(session: InferenceSession, { Tensor }: Module, count: number): Promise<number[]> {
  const feeds: Feeds = Object.fromEntries(
    caches.map((cache) => [`past_key_values.${cache}`, new Tensor('float32', new Float32Array(0), emptyShape)]),
  )
  const tokens: number[] = []
  for (let token = 1; tokens.length < count; tokens.push(token)) {
    feeds['input_ids'] = new Tensor('int64', BigInt64Array.of(BigInt(token)), [1, 1])
    const given = await session.run(feeds)
    const logits = given['logits']?.data as Float32Array
    token = logits.indexOf(logits.reduce((most, each) => Math.max(most, each)))
    for (const cache of caches) feeds[`past_key_values.${cache}`] = given[`present.${cache}`] as OrtTensor
  }
  return tokens
}

/** Milliseconds of 200 tokens. */
async function generating(): Promise<Row[]> {
  const [rounds, count] = [roundsOf(25), scaled(200)]
  note(`${count} tokens of a tiny decoder …`)
  const model = tinyDecoder()
  const [our, their] = [await open(ours, model), await open(theirs, model)]
  const [got, wanted] = [await generate(our, ours, count), await generate(their, theirs, count)]
  if (got.join() !== wanted.join()) throw new Error(`the two give other tokens:\n${got.join()}\n${wanted.join()}`)
  const ms = (session: InferenceSession, module: Module) => async (): Promise<number> =>
    (await microsecondsPerCall(1, () => generate(session, module, count))) / 1000
  const time = await interleaved(rounds, { ours: ms(our, ours), peer: ms(their, theirs) })
  await Promise.all([our.release(), their.release()])
  const { layers, hidden } = size
  const what = `${count} tokens with past_key_values, ${layers} layers of ${hidden}`
  const told = `peer: onnxruntime-node, one thread each; the same tokens; ${rounds} rounds`
  return [row(what, 'ms', time.ours, time.peer, { of: 'ratio', sign: '<=', value: 1 }, told)]
}

const { values, positionals } = parseArgs({ options: flags, allowPositionals: true })
const parts = { calls, reading, generating }
const probe = await Engine.load(identity('float32', [16]), { backend: 'cpu' })
const on = machine({ peers: onnxruntimeVersion(), runtime: probe.description })
await probe.close()
await runParts(parts, positionals, { bench: 'ort', machine: on, json: values.json })
