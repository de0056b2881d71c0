import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { readText, root, run } from './support.js'

interface Facts {
  sources: string[]
  apart: string[]
}

const { sources, apart } = JSON.parse(readText('native/build.json')) as Facts

t.test('native/build.json lists every source file under native/, once', async (t) => {
  const found = readdirSync(join(root, 'native'), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.cc'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  t.same([...sources].sort(), found.sort())
  t.strictSame(
    apart.filter((path) => !sources.includes(path)),
    [],
    'and of these, those that are compiled apart',
  )
})

t.test('both build systems read that list, and name no source themselves', async (t) => {
  for (const file of ['binding.gyp', 'CMakeLists.txt']) {
    const text = readText(file)
    t.match(text, 'native/build.json', file)
    t.notMatch(text, /\.cc\b/, file)
  }
})

t.test('each defect of test/defects can still be put in', async (t) => {
  t.match(await run(process.execPath, ['scripts/defects.mjs', '--check'], root), /^25 defects, 10 of them native$/m)
})
