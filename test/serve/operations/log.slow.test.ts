// The log: pino's lines, and Triton's switches of its levels.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ServeLog } from '../../../lib/serve/front/options.js'
import { noLog, openLog } from '../../../lib/serve/operations/log.js'
import type { LogSettings } from '../../../lib/serve/options.js'
import { loadPeer } from '../../../lib/serve/peers.js'

const pino = await loadPeer('pino')

function lines(settings: Partial<LogSettings>, body: (log: ServeLog) => void): Record<string, unknown>[] {
  const texts: string[] = []
  const all: LogSettings = {
    verbose: 0,
    info: true,
    warning: true,
    error: true,
    format: 'default',
    file: undefined,
    destination: { write: (text) => texts.push(text) },
    ...settings,
  }
  using log = openLog(pino, all)
  body(log)
  return texts.map((text) => JSON.parse(text) as Record<string, unknown>)
}

function allLevels(log: ServeLog): void {
  log.info({ model: 'm' }, 'i')
  log.warn({}, 'w')
  log.error({}, 'e')
  log.verbose(1, {}, 'v1')
}

const texts = (found: readonly Record<string, unknown>[]): unknown[] => found.map(({ msg }) => msg)

t.test('a line has its level by name, its fields and its text', (t) => {
  const [first] = lines({}, allLevels)
  t.match(first, { level: 'info', model: 'm', msg: 'i', time: Number })
  t.notOk('pid' in first! || 'hostname' in first!)
  t.match(lines({ format: 'ISO8601' }, allLevels)[0], { time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ })
  t.end()
})

t.test('each level has a switch of its own', (t) => {
  t.strictSame(texts(lines({}, allLevels)), ['i', 'w', 'e'])
  t.strictSame(texts(lines({ info: false }, allLevels)), ['w', 'e'])
  t.strictSame(texts(lines({ warning: false }, allLevels)), ['i', 'e'])
  t.strictSame(texts(lines({ error: false }, allLevels)), ['i', 'w'])
  t.strictSame(texts(lines({ verbose: 1, info: false }, allLevels)), ['w', 'e', 'v1'])
  t.strictSame(texts(lines({ verbose: 2 }, allLevels)), ['i', 'w', 'e', 'v1'])
  t.end()
})

t.test('lines are appended to a file, which is there at once', (t) => {
  const file = join(t.testdir({ 'old.log': 'before\n' }), 'old.log')
  t.strictSame(lines({ file }, allLevels), [])
  const [before, ...after] = readFileSync(file, 'utf8').trim().split('\n')
  t.equal(before, 'before')
  t.strictSame(texts(after.map((text) => JSON.parse(text) as Record<string, unknown>)), ['i', 'w', 'e'])
  t.throws(() => lines({ file: join(file, 'no') }, allLevels), {
    code: 'ERR_TRT_FILE',
    message: /^Cannot write the log .*: ENOTDIR/,
  })
  t.notOk(existsSync(join(file, 'no')))
  t.end()
})

t.test('no log takes all, and tells nothing', (t) => {
  allLevels(noLog)
  t.pass()
  t.end()
})
