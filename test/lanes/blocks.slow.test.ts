// Blocks of an engine's memory: tensors that are views of one, leases by byte range, and how it is told that they have
// ended.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { blurRegions, type Image } from '../../lib/vision/index.js'
import { onReleased } from '../../lib/engine.js'
import { type EngineOptions, Tensor, TensorRTError } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { Random } from '../support/random.js'
import { collect, until } from '../support/waiting.js'
import { startWorker } from './children.js'
import {
  type Delay,
  driver,
  leftovers,
  load,
  rows,
  rowsPlan,
  type Runtime,
  runtimes,
  type Spec,
  wanted,
} from './rig.js'

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>
process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

/** y = a and b, one after the other */
const pairPlan: Spec = {
  inputs: [{ name: 'a', shape: [4] }, { name: 'b', shape: [4] }], // prettier-ignore
  outputs: [{ name: 'y', shape: [8] }],
  ops: [{ type: 'concat', inputs: ['a', 'b'], output: 'y', attributes: { axis: 0 } }],
}

const floats = (block: Uint8Array<ArrayBuffer>, first: number, count: number): Tensor<'float32'> =>
  Tensor.fromBytes('float32', block.subarray(4 * first, 4 * (first + count)), [count])

/** Rows of three of a block, by their number in it. */
const rowsOf = (block: Uint8Array<ArrayBuffer>, first: number, count: number): Tensor<'float32'> =>
  floats(block, 3 * first, 3 * count).reshape([count, 3])

/** Requests of an engine that all wait in its queue, since a batch has fewer rows than it is to have. */
const waiting: EngineOptions = { batching: { maxBatch: 64, maxDelayMs: 60_000 } }

/**
 * How long an inference takes: on a device until the clock is let go, on onnxruntime, which ends what nobody waits for,
 * a while.
 */
const slow = ({ backend }: Runtime): Delay =>
  backend === 'tensorrt' ? { computeMs: 1, clock: 'manual' } : { computeMs: 1000 }
const letGo = (): void => driver.set({ clock: 'real' })

/** Of whatever a call was rejected with. */
const codeOf = (error: unknown): string => (error instanceof TensorRTError ? error.code : String(error))

const inUse = { code: 'ERR_TRT_BUFFER_IN_USE' }

for (const runtime of runtimes) {
  await t.test(runtime.name, async (t) => {
    await t.test(
      'several views of one block are inputs and output of one request, and nothing is copied',
      async (t) => {
        await using engine = await load(runtime, pairPlan)
        const block = engine.allocateBytes(96)
        t.same([block.length, block.byteOffset, block.buffer.byteLength], [96, 0, 96])
        const [a, b, y] = [floats(block, 0, 4), floats(block, 4, 4), floats(block, 12, 8)]
        a.data.set([1, 2, 3, 4])
        b.data.set([10, 20, 30, 40])
        const both = [1, 2, 3, 4, 10, 20, 30, 40]
        t.equal((await engine.infer({ a, b }, { into: { y } }))['y'], y)
        t.same(y.data, both)
        t.same(
          engine.inferSync({ a, b: floats(block, 2, 4) }, { into: { y } })['y']?.data,
          [1, 2, 3, 4, 3, 4, 10, 20],
          'inputs may overlap',
        )
        t.same((await engine.infer({ a, b: a }))['y']?.data, [1, 2, 3, 4, 1, 2, 3, 4], 'or be one')
        t.equal(engine.stats().bytesCopied, 0)
        for (const overlapping of [floats(block, 3, 8), floats(block, 7, 8), floats(block, 0, 8)])
          t.equal(
            (await failureOf(() => engine.infer({ a, b }, { into: { y: overlapping } }))).code,
            'ERR_TRT_INVALID_ARGUMENT',
          )
        t.same(
          (await engine.infer({ a, b }, { into: { y } }))['y']?.data,
          both,
          'nothing is leased by what was refused',
        )
      },
    )

    await t.test('a picture that lies in a block is not painted while a request reads it', async (t) => {
      await using engine = await load(runtime, rowsPlan(), waiting)
      const block = engine.allocateBytes(36).fill(7)
      const picture: Image = { width: 4, height: 3, channels: 3, data: block }
      const controller = new AbortController()
      const call = engine.infer(rowsOf(block, 1, 1), { signal: controller.signal })
      const inPlace = { method: 'fill', color: [255, 255, 255], inPlace: true } as const
      t.match(await failureOf(() => blurRegions(picture, [[0, 0, 4, 3]], inPlace)), inUse)
      t.ok(
        block.every((value) => value === 7),
        'nothing is painted',
      )
      const reason = new Error('enough')
      controller.abort(reason)
      await t.rejects(call, reason)
      await engine.released(block)
      t.equal(await blurRegions(picture, [[-9, -9, 30, 30]], inPlace), picture)
      t.ok(block.every((value) => value === 255))
    })

    await t.test(
      'rows of one block are the inputs of several requests, which merge without a copy where they merge whole',
      async (t) => {
        const counts = [2, 1, 3, 2]
        const options = { batching: { maxBatch: 8, holdUntil: counts.length } }
        /** How they lie in the block: what is begun `apart` rows further on does not lie together. */
        for (const [apart, order] of [
          [0, [0, 1, 2, 3]],
          [1, [0, 1, 2, 3]],
          [0, [1, 0, 2, 3]],
        ] as const) {
          await using engine = await load(runtime, rowsPlan(), options)
          const block = engine.allocateBytes(12 * (8 + 4 * apart))
          const x = rows(7, block.length / 12).data
          rowsOf(block, 0, block.length / 12).data.set(x)
          let next = 0
          const places = counts.map((count) => {
            const first = next
            next += count + apart
            return { first, count }
          })
          const asked = order.map((i) => places[i] ?? { first: 0, count: 0 })
          const results = await Promise.all(asked.map(({ first, count }) => engine.infer(rowsOf(block, first, count))))
          for (const [i, { first, count }] of asked.entries())
            t.same(results[i]?.data, wanted(x.subarray(3 * first, 3 * (first + count))))
          t.match(engine.counters(), { requests: 4, rows: 8, executions: 1, batchSizes: [{ rows: 8, executions: 1 }] })
          const isGathered = runtime.backend === 'cpu' && (apart > 0 || order[0] > 0)
          t.equal(engine.stats().bytesCopied, isGathered ? 8 * 12 : 0)
        }
      },
    )

    await t.test('blocks of any length; a view that begins within an element is refused', async (t) => {
      await using engine = await load(runtime, pairPlan)
      t.equal(engine.allocateBytes(0).length, 0)
      t.equal(engine.allocateBytes(7).length, 7)
      for (const bytes of [-1, 0.5, Number.NaN, 2 ** 53, '8' as unknown as number])
        t.equal((await failureOf(() => engine.allocateBytes(bytes))).code, 'ERR_TRT_INVALID_ARGUMENT')
      // which ended the process: Node 20 makes no such ArrayBuffer over memory that is not its own
      t.equal((await failureOf(() => engine.allocateBytes(2 ** 32 + 1))).code, 'ERR_TRT_OUT_OF_MEMORY')
      t.throws(() => Tensor.fromBytes('float32', engine.allocateBytes(64).subarray(2, 18), [4]), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /a byteOffset that is a multiple of 4 for a float32 tensor but received 2/,
      })
      await engine.close()
      t.equal((await failureOf(() => engine.allocateBytes(8))).code, 'ERR_TRT_CLOSED')
    })

    await t.test(
      'requests on bytes of their own are under way at once; on the bytes of another they are refused',
      async (t) => {
        const engine = await load(runtime, rowsPlan(), waiting)
        const block = engine.allocateBytes(12 * 12)
        const x = rows(5, 12).data
        const all = rowsOf(block, 0, 12)
        all.data.set(x)
        const one = engine.infer({ x: rowsOf(block, 0, 2) }, { into: { y: rowsOf(block, 8, 2) } })
        const two = engine.infer(rowsOf(block, 2, 3))
        const into = (input: number, output: number) => () =>
          engine.infer({ x: rowsOf(block, input, 1) }, { into: { y: rowsOf(block, output, 1) } })
        const refused = [
          () => engine.infer(rowsOf(block, 1, 1)),
          () => engine.infer(rowsOf(block, 4, 2)),
          () => engine.infer(all),
          () => engine.infer(rowsOf(block, 7, 2)),
          () => engine.inferSync(rowsOf(block, 0, 1)),
          into(6, 4), // the output's bytes are another's
          into(4, 6), // the input's are: that of the output are given back
          into(9, 7),
          () => engine.upload(rowsOf(block, 3, 1)),
        ]
        const failures = await Promise.all(refused.map(failureOf))
        for (const [i, { code }] of failures.entries()) t.equal(code, 'ERR_TRT_BUFFER_IN_USE', `call ${i}`)
        t.equal(
          failures[0]?.message,
          "Of the engine's memory, bytes 12 to 23 of 144 are in use by another inference: await that first",
        )
        t.equal(
          failures[2]?.message,
          'A tensor made by engine.allocate() is in use by another inference: await that first',
        )
        const three = engine.infer({ x: rowsOf(block, 6, 2) }, { into: { y: rowsOf(block, 10, 2) } })
        await engine.close() // which runs what waits
        t.same((await one)['y']?.data, wanted(x.subarray(0, 6)))
        t.same((await two).data, wanted(x.subarray(6, 15)))
        t.same((await three)['y']?.data, wanted(x.subarray(18, 24)))
      },
    )

    await t.test('a thousand random requests on one block, against a model', async (t) => {
      await using engine = await load(runtime, rowsPlan(), waiting)
      const length = 40
      const block = engine.allocateBytes(length * 12)
      const random = new Random(25)
      const below = (bound: number): number => random.below(bound)
      /** What is leased, as [first row, the one behind the last]. */
      type Rows = readonly [number, number]
      const overlap = ([a, b]: Rows, [c, d]: Rows): boolean => a < d && c < b
      const underWay: {
        readonly taken: readonly Rows[]
        readonly abort: AbortController
        readonly ended: Promise<string | undefined>
      }[] = []
      const isTaken = (range: Rows): boolean =>
        underWay.some(({ taken }) => taken.some((other) => overlap(other, range)))
      const range = (count: number): Rows => {
        const first = below(length - count + 1)
        return [first, first + count]
      }
      const tensor = ([first, behind]: Rows): Tensor<'float32'> => rowsOf(block, first, behind - first)
      const [wrong, told, counts] = [[] as string[], new Map<number, number>(), { refused: 0, begun: 0, waits: 0 }]
      for (let round = 0; round < 1000; round++) {
        const count = 1 + below(6)
        const input = range(count)
        const output = below(2) === 0 ? range(count) : undefined
        if (output !== undefined && overlap(input, output)) continue
        const taken = output === undefined ? [input] : [input, output]
        const isRefused = taken.some(isTaken)
        const abort = new AbortController()
        const into = output === undefined ? {} : { into: { y: tensor(output) } }
        const ended = engine
          .infer({ x: tensor(input) }, { ...into, signal: abort.signal })
          .then(() => undefined, codeOf)
        const waits = engine.stats().waiting
        const begun = waits === underWay.length + 1
        if (begun === isRefused) wrong.push(`round ${round}: ${begun ? 'begun' : 'refused'}`)
        if (isRefused) {
          counts.refused++
          const code = await ended
          if (code !== inUse.code) wrong.push(`round ${round}: ${code}`)
        } else {
          counts.begun++
          underWay.push({ taken, abort, ended })
        }
        const asked = range(1 + below(length))
        const isAwaited = onReleased(engine, tensor(asked), () => told.set(round, (told.get(round) ?? 0) + 1))
        if (isAwaited !== isTaken(asked)) wrong.push(`round ${round}: ${isAwaited ? 'told later' : 'free'}`)
        if (isAwaited) told.set(round, told.get(round) ?? 0)
        if (isAwaited) counts.waits++
        while (underWay.length > 0 && below(3) === 0) underWay.splice(below(underWay.length), 1)[0]?.abort.abort()
      }
      t.same(wrong, [])
      t.ok(
        Object.values(counts).every((count) => count > 100),
        JSON.stringify(counts),
      )
      for (const { abort } of underWay) abort.abort()
      await engine.released(block)
      t.ok(await until(() => [...told.values()].every((times) => times === 1)), 'each was told once')
      t.equal(told.size, counts.waits)
      const all = rowsOf(block, 0, length)
      all.data.fill(1)
      t.equal(engine.inferSync(all).data[119], 3, 'nothing is leased any more')
    })

    await t.test(
      'released: at once where nothing is under way, and after an abort once the lane is done',
      async (t) => {
        await runtime.slowly(slow(runtime), rowsPlan(), { lanes: 1 }, async (engine) => {
          const block = engine.allocateBytes(144)
          const [x, y] = [rowsOf(block, 0, 2), rowsOf(block, 4, 2)]
          for (const memory of [
            block,
            x,
            engine.allocate('x', [1, 3]),
            rows(1),
            new Uint8Array(8),
            new Uint8Array(0),
            new DataView(block.buffer),
          ])
            t.equal(await engine.released(memory), undefined)
          const abort = new AbortController()
          const call = engine.infer({ x }, { into: { y }, signal: abort.signal })
          t.ok(await until(() => engine.stats().inFlight === 1), 'it runs')
          t.equal(await engine.released(rowsOf(block, 2, 2)), undefined, 'other bytes are free')
          const happened: string[] = []
          const other = new AbortController()
          const given = engine.released(block, { signal: other.signal })
          const all = [block, x, y.data.subarray(0, 1)].map((memory) =>
            engine.released(memory).then(() => happened.push('released')),
          )
          t.ok(onReleased(engine, y, () => happened.push('called')))
          other.abort(new Error('enough'))
          await t.rejects(given, { message: 'enough' })
          abort.abort(new Error('given up'))
          await t.rejects(call, { message: 'given up' })
          if (runtime.backend === 'tensorrt') {
            t.match(await failureOf(() => engine.infer(x)), inUse)
            t.same(happened, [], 'a device computes on')
            letGo()
          }
          await Promise.all(all)
          t.ok(await until(() => happened.length === 4))
          t.same(happened.sort(), ['called', 'released', 'released', 'released'])
          x.data.fill(2)
          t.same((await engine.infer({ x }, { into: { y } }))['y']?.data, [5, 5, 5, 5, 5, 5])
          await engine.released(y)
        })
      },
    )

    await t.test(
      'released: what is no memory, what is aborted already, and memory that was transferred away',
      async (t) => {
        await using engine = await load(runtime, rowsPlan())
        for (const memory of [undefined, 5, {}, 'block', new ArrayBuffer(8)])
          t.equal((await failureOf(() => engine.released(memory as Uint8Array))).code, 'ERR_TRT_INVALID_ARGUMENT')
        using there = await engine.upload(rows(1))
        t.equal((await failureOf(() => engine.released(there as unknown as Tensor))).code, 'ERR_TRT_INVALID_ARGUMENT')
        await t.rejects(engine.released(new Uint8Array(1), { signal: AbortSignal.abort(new Error('before')) }), {
          message: 'before',
        })
        const gone = new Uint8Array(8)
        structuredClone(gone, { transfer: [gone.buffer] })
        t.equal(await engine.released(gone), undefined)
      },
    )

    await t.test(
      'an engine that is closed while released() waits runs what it has, and then it is fulfilled',
      async (t) => {
        const engine = await load(runtime, rowsPlan(), waiting)
        const x = rowsOf(engine.allocateBytes(36), 0, 3)
        x.data.set(rows(3, 3).data)
        const call = engine.infer(x)
        const released = engine.released(x)
        await engine.close()
        t.same((await call).data, wanted(x.data))
        t.equal(await released, undefined)
        t.equal(await engine.released(x), undefined, 'nothing is under way on a closed engine')
      },
    )

    await t.test('a block that was collected stays until its request is done', async (t) => {
      const engine = await load(runtime, rowsPlan(), waiting)
      const x = rows(9, 3).data
      const collected = { count: 0 }
      const registry = new FinalizationRegistry<string>(() => collected.count++)
      const call = ((): Promise<Tensor> => {
        const block = engine.allocateBytes(36)
        registry.register(block.buffer, 'block')
        rowsOf(block, 0, 3).data.set(x)
        return engine.infer(rowsOf(block, 0, 3))
      })()
      await collect()
      const others = Array.from({ length: 4 }, () => engine.allocateBytes(36)) // would have its memory
      for (const other of others) other.fill(0xff)
      await engine.close()
      t.same((await call).data, wanted(x))
      t.ok(await until(() => (globalThis.gc?.(), collected.count > 0)), 'it was collected in the end')
    })

    await t.test('a worker that ends while released() waits', async (t) => {
      const program = `
        const e = await load({ batching: { maxBatch: 64, maxDelayMs: 60_000 } })
        const block = e.allocateBytes(36)
        e.infer(Tensor.fromBytes('float32', block.subarray(0, 12), [1, 3]))
        e.released(block).then(() => { throw new Error('released') })
        parentPort.postMessage(0)
      `
      await using engine = await load(runtime, rowsPlan())
      const worker = startWorker(program, runtime)
      const failed = new Promise<never>((_, reject) => worker.once('error', reject))
      await Promise.race([new Promise((resolve) => worker.once('message', resolve)), failed])
      t.equal(await Promise.race([worker.terminate(), failed]), 1)
      t.same((await engine.infer(rows(1))).data, wanted(rows(1).data), 'others go on')
    })
  })
}
t.ok(await until(() => Object.keys(leftovers()).length === 0))
t.same(leftovers(), {})
