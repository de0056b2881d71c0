// All pages but README.md: each fence compiled and run, as docs/testing.md tells. One page alone, or the fence at a
// line of it: TRT_DOCS=docs/guides/threads.md npm test -- docs/guides.slow        TRT_DOCS=docs/guides/threads.md:40
// npm test -- docs/guides.slow
import t from 'tap'
import { pagePaths, readPage } from './pages.js'
import { testPages } from './testing.js'

const [, wanted, line] = /^(.*?)(?::(\d+))?$/.exec(process.env['TRT_DOCS'] ?? '') ?? []
const paths = pagePaths().filter((path) => (wanted ? path === wanted : path !== 'README.md'))
t.ok(paths.length > 0, wanted ? `there is a page ${wanted}` : 'there are pages')
await testPages(
  t,
  paths.map((path) => readPage(path)),
  line === undefined ? undefined : Number(line),
)
