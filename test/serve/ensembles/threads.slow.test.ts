// Ensembles with modules among their steps: what they answer, what is copied, and what goes from thread to thread.
import { MessagePort } from 'node:worker_threads'
import t from 'tap'
import { Engine } from '../../../lib/engine.js'
import { Cut } from '../../../lib/base/cancellation.js'
import { TensorRTError } from '../../../lib/errors.js'
import { EngineModel } from '../../../lib/serve/models/engine-model.js'
import { onnxruntime, runtimes } from '../../lanes/rig.js'
import { long, size } from '../../support/tiers.js'
import { ensemble } from './rig.js'
import {
  engineFiles,
  label,
  labelFiles,
  labelOf,
  moduleFiles,
  nothingLeft,
  type World,
  worldOf,
} from './threads-rig.js'

t.setTimeout(600_000 + size(0, 600_000))

/** Kinds of messages to threads and from them, in their order. */
const sent: string[] = []
const received: string[] = []
const portsUsed = new Set<unknown>()
// eslint-disable-next-line @typescript-eslint/unbound-method -- they are called with the port that they are asked of
const { postMessage, on } = MessagePort.prototype
MessagePort.prototype.postMessage = function (this: MessagePort, message: { readonly type: string }, ...more: never[]) {
  sent.push(message.type)
  portsUsed.add(this)
  return postMessage.call(this, message, ...more)
}
MessagePort.prototype.on = function (
  this: MessagePort,
  name: string,
  listener: (message: { readonly type: string }) => void,
) {
  const listening = (message: { readonly type: string }): void => {
    received.push(message.type)
    listener(message)
  }
  return on.call(this, name as 'message', listening)
} as typeof on

async function told<T>(
  work: () => Promise<T>,
): Promise<{ readonly to: string[]; readonly from: string[]; readonly threads: number; readonly value: T }> {
  for (const list of [sent, received]) list.length = 0
  portsUsed.clear()
  const value = await work()
  return { to: [...sent], from: [...received], threads: portsUsed.size, value }
}

/** The bytes of inputs that the engine has copied, whoever asked it. */
async function bytesCopied(world: World): Promise<number> {
  await using engine = await Engine.attach(world.engine().share()[0]!.token, { queue: 'shared' })
  return engine.stats().bytesCopied
}

// What is tested here is above lib/backend; threads-faults and threads-reload run on the fakes.
for (const runtime of long ? runtimes : [onnxruntime])
  await t.test(runtime.name, async (t) => {
    const world = await worldOf(t, runtime, labelFiles(runtime))
    await t.test('steps count for themselves', async (t) => {
      await label(world, [1, 2, 3, 4, 5, 6])
      await label(world, [1, 2, 3])
      for (const step of [world.ensemble(), world.module('triple'), world.engine(), world.module('plus_one')]) {
        const { requests, rows, executions, batchSizes, computeNs } = step.counters()
        t.same([requests, rows, executions], [2, 3, 2], step.name)
        t.same(batchSizes.map((each) => [each.rows, each.executions]), [[1, 1], [2, 1]], step.name) // prettier-ignore
        t.ok(computeNs > 0 && step.lastInference > 0)
      }
      t.same([world.models.inFlight, world.ensemble().pending], [0, 0])
    })

    await t.test('one message there and one back, and nothing is copied that is written where it goes', async (t) => {
      t.same(await label(world, [1, 2, 3]), labelOf([1, 2, 3]))
      const copiedBefore = await bytesCopied(world)
      const one = await told(() => label(world, [4, 5, 6, 0, 1, 2]))
      t.same(one.value, labelOf([4, 5, 6, 0, 1, 2]))
      t.same([one.to, one.from], [['run'], ['answer']])
      t.same(world.ensemble().copies, { tensors: 0, bytes: 0 })
      t.equal(await bytesCopied(world), copiedBefore, 'the engine has read it where it was')
      const own = await told(() => label(world, [4, 5, 6], { parameters: { pre: 'own' } }))
      t.same([own.value, own.to, own.from], [labelOf([4, 5, 6]), ['run'], ['answer']])
      t.same(world.ensemble().copies, { tensors: 1, bytes: 12 }, 'a tensor of its own is copied once')
      t.equal(await bytesCopied(world), copiedBefore, 'into memory of the engine')
    })

    await t.test('what waits for a module in a thread is one batch of it', async (t) => {
      const all = Array.from({ length: 12 }, (_, i) => [i, i + 1, i + 2])
      const before = world.module('triple').counters()
      const answers = await Promise.all(all.map((pixels) => label(world, pixels, { parameters: { pre: 'slow' } })))
      t.same(answers, all.map(labelOf))
      const { executions, requests } = world.module('triple').counters()
      t.equal(requests - before.requests, 12)
      t.ok(executions - before.executions < 12, `${executions - before.executions} batches`)
      await world.models.close()
      t.same(await nothingLeft(), {})
    })

    await t.test('requests of several threads fill one batch', async (t) => {
      const engine = 'dynamic_batching { preferred_batch_size: [ 2 ] max_queue_delay_microseconds: 60000000 }'
      const world = await worldOf(t, runtime, labelFiles(runtime, { count: 2, engine }))
      const warmed = world.engine().counters().executions
      const { value, to, from, threads } = await told(() =>
        Promise.all([label(world, [1, 2, 3]), label(world, [4, 5, 6])]),
      )
      t.same(value, [labelOf([1, 2, 3]), labelOf([4, 5, 6])])
      t.same([to, from, threads], [['run', 'run'], ['answer', 'answer'], 2])
      t.same(
        world.engine().counters().batchSizes.map(({ rows, executions }) => [rows, executions]), // prettier-ignore
        [[2, 1]],
      )
      t.equal(warmed, 0)
    })

    await t.test('a module that awaits has as many batches under way as it says', async (t) => {
      const files = labelFiles(runtime)
      const first = 'triple/1/model.js'
      const world = await worldOf(t, runtime, {
        ...files,
        [first]: String(files[first]).replace('export default {', 'export default { concurrency: 2,'),
      })
      const hanging = new Cut()
      const hung = label(world, [1, 2, 3], { parameters: { pre: 'waits' }, cut: hanging })
      t.same(await label(world, [4, 5, 6]), labelOf([4, 5, 6]), 'beside one that has not ended')
      hanging.happen(new Error('enough'))
      await t.rejects(hung, { message: 'enough' })
    })

    await t.test('random ensembles of modules, engines and ensembles give what their steps give', async (t) => {
      const steps = {
        triple: (v: number) => v * 3,
        engine: (v: number) => Math.max(0, 2 * v + 1),
        plus_one: (v: number) => v + 1,
      }
      const float = `export default { execute: (requests) => requests.map((request) => {
        const y = request.output('y', request.shapes.x)
        request.inputs.x.data.forEach((value, i) => (y.data[i] = FORMULA))
        return { y } }) }`
      const module = (name: string, formula: string): Readonly<Record<string, string | Uint8Array>> =>
        moduleFiles(name, float.replace('FORMULA', formula), ['x FP32 [3]'], ['y FP32 [3]'])
      const kinds = Object.keys(steps) as (keyof typeof steps)[]
      let seed = 7
      const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below
      const chains = Array.from({ length: size(6, 40) }, () =>
        Array.from({ length: 2 + random(6) }, () => kinds[random(3)]!),
      )
      const chainFiles = chains.map((chain, i) => {
        const inner = random(2) === 0 && i > 0
        const lines = chain.map((kind, at) => `${kind}(x=t${at} -> y=t${at + 1})`)
        const last = inner
          ? [`chain_${i - 1}(t0=t${chain.length} -> out=out)`]
          : [`plus_one(x=t${chain.length} -> y=out)`]
        return {
          inner,
          files: ensemble(`chain_${i}`, {
            inputs: ['t0 FP32 [3]'],
            outputs: ['out FP32 [3]'],
            steps: [...lines, ...last],
            maxBatch: 8,
          }),
        }
      })
      const wantedOf = (i: number, value: number): number => {
        const through = chains[i]!.reduce((v, kind) => Math.fround(steps[kind](v)), value)
        return chainFiles[i]!.inner ? wantedOf(i - 1, through) : Math.fround(through + 1)
      }
      const world = await worldOf(t, runtime, {
        ...engineFiles(runtime),
        ...module('triple', '3 * value'),
        ...module('plus_one', 'value + 1'),
        ...Object.assign({}, ...chainFiles.map(({ files }) => files)),
      })
      for (const [i] of chains.entries()) {
        const values = [random(9), random(9), random(9)]
        const input = {
          name: 't0',
          datatype: 'FP32' as const,
          shape: [1, 3],
          bytes: new Uint8Array(Float32Array.from(values).buffer),
        }
        const [answer] = await world.ensemble(`chain_${i}`).infer({ inputs: [input] }, new Cut())
        t.same(
          [...new Float32Array(answer!.bytes.slice().buffer)],
          values.map((value) => wantedOf(i, value)),
          chains[i]!.join(' '),
        )
      }
      await world.models.close()
      t.same(await nothingLeft(), {})
    })

    await t.test('where engines cannot be shared the steps run where they are', async (t) => {
      // eslint-disable-next-line @typescript-eslint/unbound-method -- it is put back where it was
      const { share } = EngineModel.prototype
      EngineModel.prototype.share = () => {
        throw new TensorRTError('ERR_TRT_UNSUPPORTED', 'share() needs the addon')
      }
      const world = await worldOf(t, runtime, labelFiles(runtime)).finally(() => (EngineModel.prototype.share = share))
      t.same(await label(world, [1, 2, 3]), labelOf([1, 2, 3]))
      const warnings = world.events.filter(({ what }) => what === 'warning').map(({ text }) => text)
      t.match(warnings, [
        /^the steps of ensemble 'label' run in the threads of their models.*: share\(\) needs the addon$/,
      ])
    })
  })
