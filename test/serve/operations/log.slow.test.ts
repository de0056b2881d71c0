// The log: pino's lines, and Triton's switches of its levels.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { ServeLog } from '../../../lib/serve/front/options.js'
import { noLog, openLog } from '../../../lib/serve/operations/log.js'
import { LogFile } from '../../../lib/serve/operations/log-file.js'
import type { LogSettings } from '../../../lib/serve/options.js'
import { loadPeer } from '../../../lib/serve/peers.js'

const pino = await loadPeer('pino')

async function lines(
  settings: Partial<LogSettings>,
  body: (log: ServeLog) => void,
): Promise<Record<string, unknown>[]> {
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
  using log = await openLog(pino, all)
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

t.test('a line has its level by name, its fields and its text', async (t) => {
  const [first] = await lines({}, allLevels)
  t.match(first, { level: 'info', model: 'm', msg: 'i', time: Number })
  t.notOk('pid' in first! || 'hostname' in first!)
  t.match((await lines({ format: 'ISO8601' }, allLevels))[0], { time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ })
})

t.test('each level has a switch of its own', async (t) => {
  t.strictSame(texts(await lines({}, allLevels)), ['i', 'w', 'e'])
  t.strictSame(texts(await lines({ info: false }, allLevels)), ['w', 'e'])
  t.strictSame(texts(await lines({ warning: false }, allLevels)), ['i', 'e'])
  t.strictSame(texts(await lines({ error: false }, allLevels)), ['i', 'w'])
  t.strictSame(texts(await lines({ verbose: 1, info: false }, allLevels)), ['w', 'e', 'v1'])
  t.strictSame(texts(await lines({ verbose: 2 }, allLevels)), ['i', 'w', 'e', 'v1'])
})

t.test('lines are appended to a file, which is there at once', async (t) => {
  const file = join(t.testdir({ 'old.log': 'before\n' }), 'old.log')
  t.strictSame(await lines({ file }, allLevels), [])
  const [before, ...after] = readFileSync(file, 'utf8').trim().split('\n')
  t.equal(before, 'before')
  t.strictSame(texts(after.map((text) => JSON.parse(text) as Record<string, unknown>)), ['i', 'w', 'e'])
  await t.rejects(lines({ file: join(file, 'no') }, allLevels), {
    code: 'ERR_TRT_FILE',
    message: `Cannot write the log ${join(file, 'no')}: ${file} is a file, and a folder is expected`,
  })
  t.notOk(existsSync(join(file, 'no')))
  const nowhere = join(dirname(file), 'nowhere')
  await t.rejects(lines({ file: join(nowhere, 'x.log') }, allLevels), {
    code: 'ERR_TRT_FILE',
    message: `Cannot write the log ${join(nowhere, 'x.log')}: there is no folder ${nowhere}`,
  })
  await t.rejects(lines({ file: dirname(file) }, allLevels), { message: /: it is a folder, and a file is expected$/ })
})

/** A log file on a disk with so many bytes of room. */
function onDisk(room: number) {
  const disk = { room, text: '', isClosed: false }
  const write = (bytes: Uint8Array): number => {
    if (disk.room === 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    const part = bytes.subarray(0, disk.room)
    disk.room -= part.length
    disk.text += Buffer.from(part).toString()
    return part.length
  }
  return { disk, file: new LogFile('x.log', write, () => void (disk.isClosed = true)) }
}

/** Emitted while `body` runs. */
async function warningsOf(body: () => void): Promise<string[]> {
  const found: string[] = []
  const listen = ({ message }: Error): void => void found.push(message)
  process.on('warning', listen)
  body()
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', listen)
  return found
}

t.test('a full disk: lines wait, later ones are dropped, and the log has their number', async (t) => {
  const { disk, file } = onDisk(5)
  const lost: number[] = []
  file.onLost = (count) => {
    lost.push(count)
    file.write(`lost ${count}\n`)
  }
  const long = `${'x'.repeat(2 ** 19 - 1)}\n`
  const warnings = await warningsOf(() => {
    for (const line of ['first\n', long, long, long]) file.write(line)
    t.equal(disk.text, 'first', 'a part of the line')
    disk.room = 2 ** 22
    file.write('after\n')
    file.write('last\n')
    file[Symbol.dispose]()
  })
  t.strictSame(lost, [2])
  t.equal(disk.text, `first\n${long}after\nlost 2\nlast\n`)
  t.strictSame(warnings, [
    'The log x.log cannot be written: ENOSPC: no space left on device, write. Up to 1048576 bytes of lines are kept until it can be',
  ])
  t.ok(disk.isClosed)
})

t.test('a disk that is full until the end: a warning has the number of lost lines', async (t) => {
  for (const [room, count, text] of [
    [0, 1, '1 line'],
    [0, 3, '3 lines'],
    [7, 3, '2 lines'],
    [12, 2, undefined],
  ] as const) {
    const { disk, file } = onDisk(room)
    const warnings = await warningsOf(() => {
      for (let i = 0; i < count; i++) file.write(`line ${i % 10}\n`.slice(0, 6))
      file[Symbol.dispose]()
    })
    t.strictSame(
      warnings.slice(text === undefined ? 0 : 1),
      text === undefined ? [] : [`The log x.log has lost ${text}: it could not be written until the end`],
    )
    t.ok(disk.isClosed)
  }
})

t.test('no log takes all, and tells nothing', (t) => {
  allLevels(noLog)
  t.pass()
  t.end()
})
