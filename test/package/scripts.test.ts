// What the scripts in scripts/ read: TAP of a test file, a command line, PATH.
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../support/folders.js'
import { root } from './support.js'

const script = async <T>(name: string): Promise<T> =>
  (await import(pathToFileURL(join(root, 'scripts', `${name}.mjs`)).href)) as T

interface Ended {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly ok: boolean
  readonly whole: boolean
}

type Report = new () => {
  write(text: string): void
  end(): Ended
  readonly skips: readonly { readonly title: string; readonly reason: string }[]
}

t.test('a report counts a file that is skipped for a reason as one skip, and nothing else as a skip', async (t) => {
  const { Report } = await script<{ Report: Report }>('tap')
  const totals = (text: string): string => `# { total: 1, ${text} }\n`
  const skipped = { passed: 0, failed: 0, skipped: 1, ok: true, whole: true }
  const rows: readonly (readonly [tap: string, ended: Partial<Ended>, skips: readonly (readonly string[])[]])[] = [
    ['1..0 # ffmpeg is missing\n', skipped, [['the whole file', 'ffmpeg is missing']]],
    ['1..0\n', { skipped: 0, whole: false }, []],
    ['1..0 # no tests found\n', { skipped: 0, whole: false }, []],
    ['', { skipped: 0, whole: false }, []],
    [`ok 1 - a test # SKIP no GPU\n1..1\n${totals('skip: 1')}`, skipped, [['a test', 'no GPU']]],
    [`ok 1 - a test\n1..1\n${totals('pass: 1')}`, { passed: 1, skipped: 0, ok: true, whole: true }, []],
    [`not ok 1 - a test\n1..1\n${totals('fail: 1')}`, { failed: 1, ok: false, whole: true }, []],
  ]
  for (const [tap, ended, skips] of rows) {
    const report = new Report()
    if (tap !== '') report.write(`TAP version 14\n${tap}`)
    t.match(report.end(), ended, JSON.stringify(tap))
    t.same(
      report.skips.map(({ title, reason }) => [title, reason]),
      skips,
    )
  }
})

t.test('words of a command are split as a shell splits them', async (t) => {
  const { shellWords } = await script<{ shellWords: (text: string) => string[] }>('commands')
  const rows: readonly (readonly [command: string, words: readonly string[]])[] = [
    ['c++  -DA=1 -c a.cc\n', ['c++', '-DA=1', '-c', 'a.cc']],
    ['-I"/a b/c" -I\'/d e\' /f\\ g', ['-I/a b/c', '-I/d e', '/f g']],
    [String.raw`-DNAME=\"x\" "-DB=\"y z\"" '-DC=\'`, ['-DNAME="x"', '-DB="y z"', '-DC=\\']],
    ['', []],
  ]
  for (const [command, words] of rows) t.same(shellWords(command), words, command)
})

t.test('hidden programs are not on the PATH, and the others of their folders still are', async (t) => {
  const { pathWithout } = await script<{
    pathWithout: (path: string, hidden: readonly string[], folder: string) => string
  }>('test-without-tools')
  const folder = temporaryFolder(t)
  const [mixed, other, links] = ['mixed', 'other', 'links'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const place of [mixed, other, links]) mkdirSync(place)
  for (const path of [join(mixed, 'ffmpeg'), join(mixed, 'ls'), join(other, 'cat')]) {
    writeFileSync(path, '#!/bin/sh\n')
    chmodSync(path, 0o755)
  }
  const path = pathWithout([mixed, other, '/nonexistent'].join(delimiter), ['ffmpeg', 'ffprobe'], links)
  const [first = '', ...rest] = path.split(delimiter)
  t.same(readdirSync(first), ['ls'])
  t.ok(existsSync(join(first, 'ls')))
  t.same(rest, [other, '/nonexistent'])
})
