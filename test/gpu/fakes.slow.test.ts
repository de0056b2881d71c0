// The checks of the first visit on the fakes, which stand for TensorRT and the driver together: the programs themselves
// are right, and a recording that they make replays.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { buildFakes } from '../fake/build.js'
import { differences, lineOf } from '../recordings/compare.js'
import { nameOf, play } from '../recordings/files.js'
import type { Recording } from '../recordings/recorder.js'
import { childEnvironment, runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { readLines } from './check.js'
import { programs } from './programs.js'

/** Checks that fail on the fakes and on a real TensorRT alike, because the package cannot do it yet. */
const known = ['plugins: builds and loads EfficientNMS_TRT']

const fakes = await buildFakes()
const env = {
  NODE_TENSORRT_LIBCUDA: fakes.cuda,
  TENSORRT_PATH: fakes.trt10,
  FAKE_TRT_VERSION: '10.6.0',
  FAKE_CUDA_COMPUTE_CAPABILITY: '9.0',
}
const [folder, out] = [temporaryFolder(t), temporaryFolder(t)]
const program = (name: string): string => fileURLToPath(new URL(`${name}.js`, import.meta.url))
const first = programs.filter(({ visit }) => visit === 1)

await promisify(execFile)(process.execPath, [program('references'), folder], { env: childEnvironment() })
const { code, stdout } = await runNode(
  [program('run'), '--references', folder, '--out', out, '--visit', '1'],
  process.cwd(),
  500_000,
  env,
)
const lines = readLines(out)

t.equal(code, 1, 'a failed check is the exit code of run.js')
t.match(stdout.trimEnd().split('\n').at(-1), `${lines.length - known.length} passed, ${known.length} failed`)
t.strictSame(
  lines.filter(({ ok }) => !ok).map(({ program, check }) => `${program}: ${check}`),
  known,
)
t.match(
  lines.filter(({ ok }) => !ok).map(({ received }) => received),
  known.map(() => ({ code: 'ERR_TRT_UNSUPPORTED_OPERATOR' })),
)
t.same(
  lines.map(({ program, check, beliefs }) => ({ program, check, beliefs })).sort(byText),
  first
    .flatMap(({ name, checks }) =>
      Object.entries(checks).map(([check, beliefs]) => ({ program: name, check, beliefs })),
    )
    .sort(byText),
  'each declared check ran once',
)
t.same(
  new Set(lines.map(({ versions }) => `${versions?.gpu} with ${versions?.tensorrt}`)),
  new Set(['Fake GPU 0, 9.0 with full 10.6.0']),
)

await t.test('the recording replays', async (t) => {
  const [name = ''] = readdirSync(out).filter((name) => name.endsWith('.json'))
  const recorded = JSON.parse(readFileSync(join(out, name), 'utf8')) as Recording
  t.equal(`${nameOf(recorded)}.json`, name)
  const { recording, failure } = await play(fakes.trt10, env)
  t.equal(failure, undefined)
  t.same(differences('library', recorded, recording).map(lineOf), [])
})

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1
}
