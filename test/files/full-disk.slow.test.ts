// A full disk under every writer of the package: a failed write is an error or, in a cache, a warning.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { childEnvironment } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { size } from '../support/tiers.js'
import { skip as withoutPrograms } from '../support/video-clips.js'
import type { Round } from './full-disk-child.js'

t.setTimeout(500_000) // many processes, on a machine that may be busy
const run = promisify(execFile)
const program = new URL('./full-disk-child.js', import.meta.url).pathname
const isRefused = await run('unshare', ['-rm', 'true']).then(
  () => false,
  () => true,
)
const skip = isRefused && 'unshare cannot mount here'

/** Runs the calls of a group on a disk of 8 MiB. */
async function roundsOf(t: Test, group: string): Promise<Round[]> {
  const disk = temporaryFolder(t)
  const folder = join(temporaryFolder(t), 'room')
  const script = 'mount -t tmpfs -o size=8m,mode=700 tmpfs "$1" && exec "$2" "$3" "$4" "$1" "$5"'
  const args = ['-rm', 'sh', '-c', script, 'sh', disk, process.execPath, program, group, folder]
  // tap's hooks put NODE_OPTIONS back into whatever is spawned
  const command = ['-u', 'NODE_OPTIONS', 'unshare', ...args]
  const { stdout } = await run('env', command, { env: childEnvironment(), maxBuffer: 2 ** 26, timeout: 450_000 })
  return JSON.parse(stdout) as Round[]
}

/** Files of calls that create a file or a folder before they write. */
const left: Readonly<Record<string, readonly string[]>> = {
  lines: ['lines.jsonl'],
  stdout: ['stdout.txt'],
  folder: ['folder'],
}

/** Files of lib/ that write by themselves, each of which a call of this test reaches. */
const writers = [
  'base/files.ts',
  'building/building-process.ts',
  'building/child.ts',
  'cli/output/whole.ts',
  'cli/output/writable.ts',
  'cli/run/pictures.ts',
  'cli/run/stdin.ts',
  'onnx/save/data-file.ts',
  'plan/write.ts',
  'serve/models/overrides.ts',
  'serve/operations/log-file.ts',
  'video/programs/bytes.ts',
  'video/writing/target.ts',
  'video/writing/trim.ts',
]

t.test('lists all files of lib/ that write by themselves', (t) => {
  const lib = join(packageRoot(), 'lib')
  const calls = /\b(writeFile|appendFile|createWriteStream|copyFile|cp|rename|open|write|link|symlink)(Sync)?\b/
  const found = readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter((name) => {
    if (!name.endsWith('.ts')) return false
    const imports = readFileSync(join(lib, name), 'utf8').matchAll(
      /^import \{([^}]*)\} from 'node:fs(?:\/promises)?'$/gm,
    )
    return [...imports].some(([, names = '']) => calls.test(names))
  })
  t.same(found.sort(), writers, 'a new writer needs a call in full-disk-*.ts')
  t.end()
})

t.test('rejects with ERR_TRT_FILE if a file cannot be written, and leaves nothing', { skip }, async (t) => {
  const rounds = await roundsOf(t, 'writers')
  t.ok(rounds.length > size(50, 70), `${rounds.length} rounds`)
  for (const { what, free, code, message, files, isOldKept } of rounds) {
    const name = `${what} with ${free} bytes: ${message}`
    if (free > 4096) {
      t.equal(code, 'done', name)
      continue
    }
    t.equal(code, 'ERR_TRT_FILE', name)
    t.match(message, /ENOSPC/, name)
    t.same(files, left[what] ?? [], name)
    t.ok(isOldKept, `${name}: the old file is unchanged`)
  }
})

t.test(
  'rejects with ERR_TRT_FILE if any write of a video fails, and leaves nothing',
  { skip: skip || withoutPrograms },
  async (t) => {
    const rounds = await roundsOf(t, 'videos')
    const counts = new Map<string, number>()
    for (const { what, free, code, message, details, value, files, isOldKept } of rounds) {
      const name = `${what} with ${free} bytes: ${message}`
      counts.set(`${what} ${code}`, (counts.get(`${what} ${code}`) ?? 0) + 1)
      if (code === 'done') {
        t.same(files, what === 'bytes' ? [] : [what], name)
        if (what.startsWith('a.') || what === 'trimmed.mkv')
          t.equal(value, what === 'trimmed.mkv' ? 10 : 6, `${name}, and all frames`)
        continue
      }
      t.equal(code, 'ERR_TRT_FILE', name)
      t.match(message, /No space left on device|ENOSPC|cut off/, name)
      if (what.startsWith('a.') || what === 'faces.mp4')
        t.match(details, { path: new RegExp(what), frames: Number }, name)
      t.notMatch(message, /is a part/, name)
      // the file belongs to the stream of the caller
      t.same(files, what === 'stream.mp4' ? [what] : [], name)
      t.ok(isOldKept, `${name}: the old file is unchanged`)
    }
    for (const what of new Set(rounds.map((round) => round.what)))
      for (const code of ['done', 'ERR_TRT_FILE']) t.ok(counts.has(`${what} ${code}`), `${what}: ${code}`)
  },
)

t.test('warns if a cache has no room, and uses the result', { skip }, async (t) => {
  const rounds = await roundsOf(t, 'caches')
  const one = (what: string): Round => rounds.find((round) => round.what === what)!
  for (const round of rounds.filter(({ what }) => what === 'engine'))
    t.match(round, {
      code: 'done',
      value: [8, 3, 4, 5],
      files: [],
      warnings: [/^TRT_CACHE_NOT_KEPT: The engine that was built for the cache .*ENOSPC/],
    })
  t.match(one('plan'), { code: 'done', value: { hit: false, isKept: false, builds: 1 }, warnings: [/NOT_KEPT/] })
  t.match(one('plan with room'), { value: { hit: false, isKept: true, builds: 2 }, warnings: [] })
  t.match(one('plan that was kept'), { value: { hit: true, isKept: true, builds: 2 }, warnings: [] })
  t.match(one('read-only'), { code: 'ERR_TRT_FILE', message: /cannot be used/, value: 0 }, 'before a build')
  t.match(one('runtime cache with room'), { code: 'done', value: [8, 3, 4, 5], warnings: [] })
  t.match(one('runtime cache'), {
    code: 'done',
    value: [8, 3, 4, 5],
    warnings: [/^TRT_CACHE_NOT_KEPT: The code that TensorRT-RTX compiled .*ENOSPC/],
  })
  t.notOk(one('runtime cache').files.some((name) => /\.runtime$|\.tmp$/.test(name)))
  const [full, room] = rounds.filter(({ what }) => what === 'timing cache')
  for (const round of [full, one('timing cache of a process')])
    t.strictSame(
      [round?.code, round?.value, round?.files, round?.warnings.length],
      ['done', { bytesBefore: 0, bytesAfter: 0 }, [], 1],
      'the plan is there',
    )
  t.match(full?.warnings, [/^TRT_CACHE_NOT_KEPT: The timing cache of a build .*No space left/])
  t.match(room, { code: 'done', files: ['timing.cache'], warnings: [] })
  t.match(one('range'), { code: 'done', value: [3, 2], files: [] })
  t.match(one('range').warnings.toSorted(), [/The engine that was built/, /The range of shapes of a model .*ENOSPC/])
  t.match(one('calibration'), { code: 'done', value: 1, files: [], warnings: [/The calibration for .*ENOSPC/] })
  t.match(one('log'), {
    code: 'done',
    value: ['full 0', 'full 1', 'full 2', 'room'],
    warnings: [/^TRT_LOG_NOT_WRITTEN: The log .*server\.log cannot be written: ENOSPC/],
  })
  t.equal(one('log').warnings.length, 1, 'once')
})
