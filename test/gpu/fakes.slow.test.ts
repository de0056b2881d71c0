// The checks of the first visit on the fakes, which stand for TensorRT and the driver together: the programs themselves
// are right, and a recording that they make replays.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { differences, lineOf } from '../recordings/compare.js'
import { nameOf, play } from '../recordings/files.js'
import type { Recording } from '../recordings/recorder.js'
import { temporaryFolder } from '../support/folders.js'
import { reluModel } from '../support/models.js'
import { until } from '../support/waiting.js'
import { writeReference } from './cases.js'
import { endCheck, readLines } from './check.js'
import { firstVisit } from './fails-on-fakes.js'
import { failures, fakeEnvironment, fakes, runOnFakes, writeReferences } from './on-fakes.js'
import { runLimited } from './process.js'
import { programNamed, programs } from './programs.js'

const [folder, out] = [temporaryFolder(t), temporaryFolder(t)]
const first = programs.filter(({ visit }) => visit === 1)
await writeReferences(folder)
const { code, stdout } = await runOnFakes(folder, out, '--visit', '1')
const lines = readLines(out)

t.equal(code, 1, 'a failed check is the exit code of run.js')
t.equal(stdout.trimEnd().split('\n').at(-1), `${lines.length - 1} passed, 1 failed`)
t.same(failures(out), firstVisit)
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
  const { recording, failure } = await play(fakes.trt10, fakeEnvironment)
  t.equal(failure, undefined)
  t.same(differences('library', recorded, recording).map(lineOf), [])
})

await t.test('a program that crashes, or misses its references, is a failed check and no end of the run', async (t) => {
  const [broken, out] = [temporaryFolder(t), temporaryFolder(t)]
  const model = reluModel([2, 4], 'x', ';die=parse:abort')
  writeReference(broken, { name: 'relu', model, source: '', shapes: [], cases: { rows: { inputs: {}, outputs: {} } } })
  const { code, stdout } = await runOnFakes(broken, out, 'relu', 'sizes')
  t.equal(code, 1)
  t.match(stdout, /^1 passed, 4 failed$/m)
  t.match(
    readLines(out).filter(({ ok }) => !ok),
    [
      { program: 'relu', check: endCheck, received: { signal: 'SIGABRT', killed: false } },
      ...Object.keys(programNamed('sizes').checks).map((check) => ({
        program: 'sizes',
        check,
        received: { message: /sizes\.json/ },
      })),
    ],
  )
})

await t.test('a program beyond its limit is killed with its children', async (t) => {
  const file = join(temporaryFolder(t), 'hangs.mjs')
  const ready = `${file}.ready`
  writeFileSync(
    file,
    `import { spawn } from 'node:child_process'
    import { writeFileSync } from 'node:fs'
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    child.once('spawn', () => writeFileSync(${JSON.stringify(ready)}, String(child.pid)))`,
  )
  // on a busy machine a child takes longer to start
  for (let seconds = 2; !existsSync(ready) && seconds <= 128; seconds *= 4)
    t.same(await runLimited([file], seconds), { code: null, signal: 'SIGKILL', killed: true })
  const child = Number(readFileSync(ready, 'utf8'))
  t.ok(await until(() => !isRunning(child)), 'the child of the program ends')
})

await t.test('no program starts once the seconds are over', async (t) => {
  const out = temporaryFolder(t)
  const { code, stdout } = await runOnFakes(folder, out, '--seconds', '0', 'driver', 'relu')
  t.equal(code, 1)
  t.match(stdout, /--only driver relu\n0 passed, 0 failed$/m)
})

/** Returns true for a running process; a zombie has ended. */
function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1
}
