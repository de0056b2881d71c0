// docs/design/gpu-checks.md has a row for each check, with the beliefs that programs.ts declares.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { programs } from './programs.js'

const page = readFileSync(join(packageRoot(), 'docs/design/gpu-checks.md'), 'utf8')
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.slice(2, -2).split(' | '))
const checks = rows.filter((row) => /^\d$/.test(row[0] ?? ''))
const beliefs = rows.map(([name = '']) => name).filter((name) => /^[CD]\d+$/.test(name))

const declared = programs.flatMap(({ name, visit, checks }) =>
  Object.entries(checks).map(([check, beliefs]) => [String(visit), name, check, beliefs.join(', ') || '–']),
)
t.strictSame(
  checks.map((row) => row.slice(0, 4)),
  declared,
  'a row for each check, in the order of the programs',
)
t.same(new Set(declared.map(([visit]) => visit)), new Set(['1', '2', '3']), 'three visits')
t.equal(new Set(programs.map(({ name }) => name)).size, programs.length, 'the names of programs differ')

t.test('an expected value comes from neither this package nor the fakes', (t) => {
  const isForeign = (source = ''): boolean =>
    /^(onnxruntime|NVIDIA|Node\.js|property|the recording of the real TensorRT)\b/.test(source) && !/fake/.test(source)
  t.same(
    checks.filter((row) => !isForeign(row[4])),
    [],
  )
  t.end()
})

t.test('each belief is explained, and named by a check or said to have none', (t) => {
  const expected = [...Array.from({ length: 11 }, (_, i) => `C${i + 1}`), 'D1']
  t.strictSame(beliefs, expected)
  const named = new Set<string>(programs.flatMap(({ checks }) => Object.values(checks).flat()))
  for (const belief of expected) {
    const [, , words = ''] = rows.find(([name]) => name === belief) ?? []
    t.equal(words.startsWith('None: '), !named.has(belief), `${belief}: ${words}`)
  }
  t.end()
})

t.test('each program is a file that declares itself', (t) => {
  for (const { name, file } of programs) {
    const path = fileURLToPath(new URL(file, import.meta.url))
    t.ok(existsSync(path), file)
    t.match(readFileSync(path, 'utf8'), new RegExp(`runProgram\\(['"]${name}['"]`))
  }
  t.end()
})
