// All pages except README.md and the guides: each fence compiled and run, as docs/testing.md describes. One page alone,
// or the fence at a line of it: TRT_DOCS=docs/serving.md:40 npm test -- docs/pages.slow
import t from 'tap'
import { testPagesThat } from './testing.js'

await testPagesThat(t, (path) => !path.startsWith('docs/guides/'))
