import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { remedyOf } from '../../lib/base/remedies.js'
import { withoutCredentials } from '../../lib/video/programs/credentials.js'
import { demandEncoder, findPrograms } from '../../lib/video/programs/find.js'
import { checkedInput } from '../../lib/video/programs/inputs.js'
import { LastLines } from '../../lib/video/programs/last-lines.js'
import { runProgram } from '../../lib/video/programs/run.js'
import { startProgram } from '../../lib/video/programs/start.js'
import { failure, failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { certain } from '../support/waiting.js'

/** A program of the shell. */
function script(path: string, lines: string): string {
  writeFileSync(path, `#!/bin/sh\n${lines}\n`)
  chmodSync(path, 0o755)
  return path
}

/** An ffmpeg that says so, and an ffprobe beside it. */
function fake(folder: string, version: string, libavutil = '57. 28.100'): string {
  mkdirSync(folder, { recursive: true })
  script(join(folder, 'ffprobe'), 'exit 0')
  return script(
    join(folder, 'ffmpeg'),
    `if [ "$2" = -encoders ]; then printf ' V....D libx264   H.264\\n A....D aac   AAC\\n'; exit; fi
echo ran >>"${folder}/runs"; echo 'ffmpeg version ${version} Copyright'; echo 'libavutil      ${libavutil} / ${libavutil}'`,
  )
}

const environment = (t: Test, values: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(values)) {
    const before = process.env[name]
    process.env[name] = value
    t.teardown(() => (before === undefined ? Reflect.deleteProperty(process.env, name) : (process.env[name] = before)))
  }
}

t.test('finds ffmpeg by the option, the variable, the path, in that order', async (t) => {
  const folder = temporaryFolder(t)
  const [byOption, byVariable, onPath] = ['option', 'variable', 'path'].map((name, i) =>
    fake(join(folder, name), `6.${i}`),
  )
  environment(t, {
    FFMPEG_PATH: join(folder, 'variable'),
    PATH: `${join(folder, 'none')}:${join(folder, 'path')}:${process.env['PATH'] ?? ''}`,
  })
  t.same(await findPrograms({ ffmpeg: byOption }), {
    ffmpeg: byOption,
    ffprobe: join(folder, 'option', 'ffprobe'),
    version: '6.0',
  })
  t.same(await findPrograms(), { ffmpeg: byVariable, ffprobe: join(folder, 'variable', 'ffprobe'), version: '6.1' })
  environment(t, { FFMPEG_PATH: '' })
  t.same(await findPrograms(), { ffmpeg: onPath, ffprobe: join(folder, 'path', 'ffprobe'), version: '6.2' })
})

t.test('looks for ffprobe beside ffmpeg, where a link leads, then on PATH', async (t) => {
  const folder = temporaryFolder(t)
  const real = fake(join(folder, 'real'), '7.0')
  const link = join(folder, 'ffmpeg')
  symlinkSync(real, link)
  t.equal((await findPrograms({ ffmpeg: link })).ffprobe, join(folder, 'real', 'ffprobe'))
  const lone = script(join(folder, 'lone-ffmpeg'), "echo 'ffmpeg version 7.0 x'")
  environment(t, { PATH: join(folder, 'real') })
  t.equal((await findPrograms({ ffmpeg: lone })).ffprobe, join(folder, 'real', 'ffprobe'))
  environment(t, { PATH: '' })
  await t.rejects(
    findPrograms({ ffmpeg: lone }),
    failure('ERR_TRT_VIDEO_PROGRAM', /no program ffprobe, neither beside .*lone-ffmpeg nor on PATH/),
  )
})

t.test('says what is missing, and what mends it', async (t) => {
  const folder = temporaryFolder(t)
  environment(t, { PATH: join(folder, 'none'), FFMPEG_PATH: '' })
  const none = await failureOf(() => findPrograms())
  t.match(none, {
    code: 'ERR_TRT_VIDEO_PROGRAM',
    message: /^There is no program ffmpeg on PATH\. What to do: apt-get install ffmpeg/,
  })
  t.equal(none.details['remedy'], remedyOf('ERR_TRT_VIDEO_PROGRAM'))
  await t.rejects(
    findPrograms({ ffmpeg: folder }),
    failure(
      'ERR_TRT_VIDEO_PROGRAM',
      /which the option ffmpeg names\. What to do: the option ffmpeg names the program ffmpeg, or the folder/,
    ),
  )
  environment(t, { FFMPEG_PATH: '/none/ffmpeg' })
  await t.rejects(
    findPrograms(),
    failure('ERR_TRT_VIDEO_PROGRAM', /no program ffmpeg at \/none\/ffmpeg, which FFMPEG_PATH names/),
  )
  const liar = script(join(folder, 'liar'), 'echo hello')
  await t.rejects(
    findPrograms({ ffmpeg: liar }),
    failure('ERR_TRT_VIDEO_PROGRAM', /neither beside|is no ffmpeg: asked for its version it says "hello"/),
  )
  await t.rejects(
    findPrograms({ ffmpeg: 7 as never }),
    failure('ERR_TRT_INVALID_ARGUMENT', /path of ffmpeg for ffmpeg but received number 7/),
  )
  await t.rejects(
    findPrograms({ ffmpeg: 'https://x/ffmpeg' }),
    failure('ERR_TRT_INVALID_ARGUMENT', /no file of this machine/),
  )
})

t.test('takes 5.1 and newer, and builds of a day by their libavutil', async (t) => {
  const folder = temporaryFolder(t)
  const at = (name: string, ...rest: [string, string?]): string => fake(join(folder, name), ...rest)
  for (const version of ['5.1', '5.1.9-0+deb12u1', 'n7.1', '7:6.1.1-3ubuntu5', '10.0'])
    t.equal((await findPrograms({ ffmpeg: at(version.replace(/\W/g, '_'), version) })).version, version)
  t.equal((await findPrograms({ ffmpeg: at('day', 'N-118-gabc', '59. 40.100') })).version, 'N-118-gabc')
  const old = await failureOf(() => findPrograms({ ffmpeg: at('old', '4.4.2-0ubuntu0.22.04.1') }))
  t.match(old, {
    code: 'ERR_TRT_VIDEO_PROGRAM',
    message: /ffmpeg 4\.4\.2-0ubuntu0\.22\.04\.1 at .* is too old: ffmpeg 5\.1 or newer is needed\. What to do/,
  })
  t.match(old.details, { version: '4.4.2-0ubuntu0.22.04.1', least: '5.1', program: 'ffmpeg' })
  await t.rejects(
    findPrograms({ ffmpeg: at('old-day', 'git-2021-01', '56. 70.100') }),
    failure('ERR_TRT_VIDEO_PROGRAM', /too old/),
  )
})

t.test('asks a program once, until its file changes; names an encoder that is missing', async (t) => {
  const folder = temporaryFolder(t)
  const path = fake(folder, '6.0')
  const programs = await findPrograms({ ffmpeg: path })
  t.equal((await findPrograms({ ffmpeg: path })).version, '6.0')
  fake(folder, '6.0.1')
  t.equal((await findPrograms({ ffmpeg: path })).version, '6.0.1')
  await demandEncoder(programs, 'libx264')
  await t.rejects(
    demandEncoder(programs, 'libx265'),
    failure(
      'ERR_TRT_VIDEO_PROGRAM',
      /^ffmpeg 6\.0 at .* was built without the encoder libx265\. What to do: .*take another codec/,
    ),
  )
})

t.test('a program that runs: its stdin, stdout and last lines, and its end', async (t) => {
  await using program = await startProgram(
    '/bin/sh',
    ['-c', 'cat; for i in $(seq 30); do echo "line $i" >&2; done; printf open >&2; exit 3'],
    {
      stdin: 'pipe',
      stdout: 'pipe',
    },
  )
  program.stdin?.end('hello')
  let text = ''
  for await (const piece of program.stdout ?? []) text += String(piece)
  t.equal(text, 'hello')
  t.same(await program.exited, { code: 3, signal: null })
  t.same(program.lines, [...Array.from({ length: 19 }, (_, i) => `line ${i + 12}`), 'open'])
  t.same(await program.end(), { code: 3, signal: null }, 'ended already')
})

t.test('end: SIGTERM, SIGKILL for who does not heed it, twice without harm', async (t) => {
  const meek = await startProgram('/bin/sh', ['-c', 'sleep 1000'])
  const [first, second] = await Promise.all([meek.end(), meek.end()])
  t.same(first, { code: null, signal: 'SIGTERM' })
  t.equal(first, second)
  const deaf = await startProgram('/bin/sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 0.1; done'], {
    stdout: 'pipe',
  })
  let isReady = false
  deaf.stdout?.on('data', () => (isReady = true))
  await certain(() => isReady)
  t.same(await deaf.end(), { code: null, signal: 'SIGKILL' })
  t.throws(() => process.kill(deaf.pid ?? 0, 0), { code: 'ESRCH' })
})

t.test('a signal ends it, and one that is aborted starts nothing', async (t) => {
  const aborts = new AbortController()
  const program = await startProgram('/bin/sleep', ['1000'], { signal: aborts.signal })
  aborts.abort()
  t.same(await program.exited, { code: null, signal: 'SIGTERM' })
  await t.rejects(startProgram('/bin/sleep', ['1'], { signal: AbortSignal.abort(new Error('mine')) }), {
    message: 'mine',
  })
  const late = new AbortController()
  const run = runProgram('/bin/sleep', ['1000'], { signal: late.signal, mostBytes: 10 })
  late.abort(new Error('mine too'))
  await t.rejects(run, { message: 'mine too' })
})

t.test('what cannot be started, and what prints too much', async (t) => {
  await t.rejects(
    startProgram('/none/ffmpeg', []),
    failure('ERR_TRT_VIDEO_PROGRAM', /\/none\/ffmpeg cannot be started: .*ENOENT.*What to do/),
  )
  await t.rejects(
    runProgram('/bin/sh', ['-c', 'yes'], { mostBytes: 1000 }),
    failure('ERR_TRT_VIDEO_DATA', /printed more than 1000 bytes/),
  )
  const { exit, output } = await runProgram('/bin/sh', ['-c', 'head -c 5; exit 1'], {
    input: new Uint8Array(1 << 20).fill(65),
    mostBytes: 1000,
  })
  t.same(
    [exit, output],
    [{ code: 1, signal: null }, 'AAAAA'],
    'who does not read all of its input is no failure of ours',
  )
})

t.test('no password, no token, no address of memory in what is kept', (t) => {
  const lines = new LastLines()
  lines.add("[rtsp @ 0x55d0aa] [error] rtsp://user:p@ss@camera:554/1?token=abc&x=1 gave 401\rnext 'http://u@h/a?b'\nx")
  t.same(lines.lines, ['[rtsp] [error] rtsp://***@camera:554/1?*** gave 401', "next 'http://***@h/a?***'", 'x'])
  lines.add('y'.repeat(1e6))
  lines.add('\n')
  t.equal(lines.lines.at(-1)?.length, 500)
  t.equal(withoutCredentials('no URL: a@b?c=d'), 'no URL: a@b?c=d')
  t.end()
})

t.test('sources: paths of any kind as "file:", networks with their protocols alone', (t) => {
  for (const name of ['-i', 'a:b.mp4', '%d.png', 'x y', 'C:a'])
    t.same(
      [checkedInput(name).url, checkedInput(name).path],
      [`file:${process.cwd()}/${name}`, `${process.cwd()}/${name}`],
    )
  const here = new URL('file:///a/b%20c.mp4')
  t.equal(checkedInput(here).path, fileURLToPath(here))
  t.equal(checkedInput(here.href).path, '/a/b c.mp4')
  const camera = checkedInput('rtsp://user:secret@camera/1')
  t.same([camera.url, camera.name, camera.path], ['rtsp://user:secret@camera/1', 'rtsp://***@camera/1', undefined])
  t.notMatch(camera.options.join(' '), /\bfile\b/)
  t.notMatch(checkedInput('a.mp4').options.join(' '), /http/)
  t.throws(
    () => checkedInput('concat://u:secret@a'),
    failure('ERR_TRT_INVALID_ARGUMENT', /a path, a file: URL or one of http:.* received string "concat:\/\/\*\*\*@a"/),
  )
  t.throws(() => checkedInput(new URL('data:x')), failure('ERR_TRT_INVALID_ARGUMENT', /file: URL/))
  t.throws(() => checkedInput(''), failure('ERR_TRT_INVALID_ARGUMENT', /a path or a URL/))
  t.throws(() => checkedInput('a\0b'), failure('ERR_TRT_INVALID_ARGUMENT', /a path or a URL/))
  t.end()
})
