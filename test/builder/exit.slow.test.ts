// The end of a process in the midst of a build of the real TensorRT-RTX: with the exit code that was asked for. It
// makes statics while it builds, whose destructors run at exit before any handler that was registered when it was
// opened.
import t from 'tap'
import { type Ended, runNode } from '../support/children.js'
import { realModels } from '../support/real-models.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { long } from '../support/tiers.js'

const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

/** The detector of PP-OCR: seconds of a core, some hundred steps of progress. */
const prelude = `
  import { Builder } from ${url('../../lib/index.js')}
  import { reluModel } from ${url('../support/models.js')}
  const options = { shapes: { x: { min: [1, 3, 64, 64], opt: [1, 3, 320, 320], max: [1, 3, 640, 640] } } }
  const building = (builder, onProgress = () => {}) => builder.build(${JSON.stringify(realModels.detector)}, { ...options, onProgress })
`

const ends: readonly [what: string, program: string, wanted: Partial<Ended>, complaint: RegExp][] = [
  ['process.exit(7)', 'process.exit(7)', { code: 7 }, /^$/],
  ['an uncaught error', "setImmediate(() => { throw new Error('mine') })", { code: 1 }, /Error: mine/],
  ['SIGTERM', "process.kill(process.pid, 'SIGTERM')", { code: null, signal: 'SIGTERM' }, /^$/],
]

/** The first build of a process makes more statics than the second, and the second has more that are there already. */
const builds: readonly [what: string, before: string][] = [
  ['first', ''],
  ['second', 'await builder.build(reluModel())\n'],
]

/**
 * How far into the build the end comes: after so many of its steps, and so much later. What takes place before the
 * first step is the parser's work; after the last, at 706, comes half of the time, or more.
 */
const momentsInSteps = [0, 1, 520, 560, 600, 640, 680, 700]
const moments: readonly [step: number, ms: number][] = [
  ...momentsInSteps.map((step): [number, number] => [step, 0]),
  ...Array.from({ length: 12 }, (_, i): [number, number] => [700, 40 + 90 * i]),
]

/** In CI two of each build, of those at which a process most often crashed whose exit handler did not run first. */
const inCI = [
  [10, 12],
  [4, 14],
]

const rows = builds.flatMap(([build, before], which) =>
  moments.flatMap(([step, ms], i) =>
    long || inCI[which]?.includes(i) ? [{ build, before, step, ms, end: ends[(i + which) % 3]! }] : [],
  ),
)

t.jobs = 2
for (const { build, before, step, ms, end } of rows) {
  const [what, program, wanted, complaint] = end
  t.test(
    `${what}, ${ms} ms after step ${step} of the ${build} build of a process`,
    { skip: skipWithoutRtx },
    async (t) => {
      const until = `let left = ${step}; await new Promise((ended) => { building(builder, () => --left || ended()).then(ended); if (left === 0) ended() })`
      const lines = [
        prelude,
        'const builder = new Builder()',
        before,
        until,
        `await new Promise((resolve) => setTimeout(resolve, ${ms}))`,
        program,
      ]
      const { stderr, ...rest } = await runNode([
        '--input-type=module',
        '-e',
        [...lines, 'setTimeout(() => {}, 60_000)'].join('\n'),
      ])
      t.same(rest, { code: 0, signal: null, stdout: '', ...wanted })
      t.match(stderr, complaint)
      t.notMatch(stderr, /Segmentation|FATAL|terminate called/)
    },
  )
}
