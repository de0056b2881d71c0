// What comes out of an engine besides results: TensorRT's log, and the diagnostics channel.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Builder, Engine, type InferMessage, type LogLevel, type LogLine, onLog } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { oneNode } from '../support/models.js'
import { until } from '../support/waiting.js'
import { runChild } from './children.js'
import { families, leftovers, planOf, rows, rowsPlan, runtimes, wanted } from './rig.js'

for (const family of families) {
  await t.test(family.name, async (t) => {
    const damaged = planOf(family, rowsPlan())
    damaged.set([1, 2, 3], damaged.length - 9)
    const fail = (): Promise<unknown> => failureOf(() => Engine.load(damaged, { tensorrt: { library: family.path } }))
    const build = (): Promise<unknown> =>
      new Builder({ tensorrt: { library: family.path } }).build(oneNode('Relu', [1, 2]))

    await t.test('onLog: levels, and an end', async (t) => {
      const lines = new Map<LogLevel, LogLine[]>()
      const ends = (['internal error', 'error', 'warning', 'info', 'verbose'] as const).map((level) => {
        const list: LogLine[] = []
        lines.set(level, list)
        return onLog((line) => list.push(line), level)
      })
      await fail()
      t.ok(await until(() => (lines.get('error')?.length ?? 0) > 0))
      t.match(lines.get('error'), [{ level: 'error', text: String }])
      await build()
      t.ok(await until(() => (lines.get('info')?.length ?? 0) > 1))
      t.ok(lines.get('info')?.some(({ level }) => level === 'info'))
      t.same(lines.get('verbose'), lines.get('info'), 'all that there was')
      t.same(lines.get('warning'), lines.get('error'), 'no line of a lower level')
      t.same(lines.get('internal error'), [])
      const before = lines.get('verbose')?.length
      for (const end of ends) {
        end()
        end()
      }
      await Promise.all([fail(), build()])
      await sleep(5)
      t.equal(lines.get('verbose')?.length, before, 'no line after the end')
    })

    await t.test('ended by its own line, and subscribed again within one', async (t) => {
      const seen: string[] = []
      let inner: (() => void) | undefined
      const end = onLog(() => {
        seen.push('outer')
        end()
        inner ??= onLog(() => seen.push('inner'), 'error')
      }, 'error')
      await fail()
      await until(() => seen.length > 0)
      await fail()
      t.ok(await until(() => seen.includes('inner')))
      t.equal(seen.filter((who) => who === 'outer').length, 1)
      inner?.()
    })

    await t.test('what onLog refuses', (t) => {
      for (const [listener, level] of [[undefined], [{}], [() => {}, 'debug'], [() => {}, 1]] as unknown as [
        () => void,
        LogLevel,
      ][])
        t.throws(() => onLog(listener, level), { code: 'ERR_TRT_INVALID_ARGUMENT' })
      t.end()
    })

    await t.test('nothing is left', (t) => {
      t.same(leftovers(), {})
      t.end()
    })
  })
}

for (const runtime of runtimes) {
  await t.test(`${runtime.name}: the diagnostics channel`, async (t) => {
    const messages: InferMessage[] = []
    const begun = performance.now()
    await runtime.slowly({ computeMs: 2 }, rowsPlan(), { lanes: 2 }, async (engine) => {
      const note = (message: unknown): void => {
        messages.push(message as InferMessage)
        // a subscriber that runs the engine itself must not spoil the results that are being told
        if (messages.length % 3 === 0) t.same(engine.inferSync(rows(90, 3)).data, wanted(rows(90, 3).data))
      }
      subscribe('node-tensorrt:infer', note)
      const results = await Promise.all(Array.from({ length: 20 }, (_, i) => engine.infer(rows(i))))
      results.forEach((y, i) => t.same(y.data, wanted(rows(i).data)))
      const y = engine.allocate('y', [1, 3])
      await failureOf(() => engine.infer(rows(0, 7), { into: { y } }))
      unsubscribe('node-tensorrt:infer', note)
      const elapsed = performance.now() - begun
      await engine.infer(rows(0))
      t.equal(messages.length, 21)
      const good = messages.slice(0, 20)
      for (const { engine: name, queueMs, computeMs } of good) {
        t.equal(name, engine.description)
        t.ok(queueMs >= 0 && queueMs < elapsed, `${queueMs} ms`)
        t.ok(computeMs < 0 || (computeMs > 0 && computeMs < elapsed), `${computeMs} ms`)
      }
      t.ok(good.some(({ computeMs }) => computeMs > 0))
      t.match(messages.at(-1)?.error, { code: 'ERR_TRT_SHAPE' })
    })
    t.same(leftovers(), {})
  })
}

await t.test('a listener does not keep the process alive, and its errors are the program’s', async (t) => {
  const damaged =
    'const bad = plan(); bad.set([1, 2, 3], bad.length - 9); await Engine.load(bad, options).catch(() => {});'
  t.same(await runChild("onLog(() => {}, 'verbose'); await load()"), { code: 0, signal: null, stdout: '', stderr: '' })
  t.same(
    await runChild(
      `process.on('uncaughtException', (e) => console.log(e.message)); onLog(() => { throw new Error('mine') }, 'error'); ${damaged} await soon()`,
    ),
    {
      code: 0,
      signal: null,
      stdout: 'mine\n',
      stderr: '',
    },
  )
  t.same(await runChild(`let n = 0; onLog(() => n++, 'verbose'); ${damaged} await soon(); console.log(n > 0)`), {
    code: 0,
    signal: null,
    stdout: 'true\n',
    stderr: '',
  })
})
