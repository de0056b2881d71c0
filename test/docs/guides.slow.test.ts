// The guides: each fence compiled and run, as docs/testing.md describes; pages.slow.test.ts has the other pages. One
// page alone, or the fence at a line of it: TRT_DOCS=docs/guides/threads.md:40 npm test -- docs/guides.slow
import t from 'tap'
import { testPagesThat } from './testing.js'

await testPagesThat(t, (path) => path.startsWith('docs/guides/'))
