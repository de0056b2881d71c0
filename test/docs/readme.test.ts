// README.md: how long it is, and each of its fences compiled and run. guides.slow.test.ts has the other pages,
// links.test.ts the links of all.
import t from 'tap'
import { readPage } from './pages.js'
import { testPages } from './testing.js'

const readme = readPage('README.md')

t.test('it is short', async (t) => {
  const lines = readme.text.trimEnd().split('\n')
  t.ok(lines.length <= 150, `${lines.length} lines`)
  t.same(lines.filter((line) => line.length > 100), [], 'no line is longer than 100 columns') // prettier-ignore
})

await testPages(t, [readme])
