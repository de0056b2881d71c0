// The process itself: what becomes of it when nobody reads what it writes, or what it writes to is full.
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { Tensor, writeTensor } from '../../lib/index.js'
import { temporaryFolder } from '../support/folders.js'
import { oneNode } from '../support/models.js'

const folder = t.testdir({})
const model = join(folder, 'relu.onnx')
writeFileSync(model, oneNode('Relu', ['n', 4]))
const bench = [
  'bench',
  model,
  '--backend',
  'cpu',
  '--shapes',
  'x:2x4',
  '--warm-up',
  '1',
  '--duration',
  '0.02',
  '--iterations',
  '5',
]

const trt = (
  args: readonly string[],
  stdout: 'pipe' | number = 'pipe',
  stdin: 'ignore' | number = 'ignore',
  env: NodeJS.ProcessEnv = {},
) =>
  spawn(process.execPath, [join(packageRoot(), 'dist/lib/cli/trt.js'), ...args], {
    stdio: [stdin, stdout, 'pipe'],
    env: { ...process.env, ...env },
  })
const ended = (child: ReturnType<typeof trt>): Promise<number | null> =>
  new Promise((resolve) => child.once('close', resolve))

t.test('nobody reads the messages: the work is done, and its results are whole', async (t) => {
  const child = trt([...bench, '--json'])
  child.stderr!.destroy()
  const [code, stdout] = await Promise.all([ended(child), text(child.stdout!)])
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { kind: 'benchmark' })
})

t.test('nobody reads the results, as behind `| head`: an end without a word', async (t) => {
  const child = trt(['exec', '--help'])
  child.stdout!.destroy()
  const [code, stderr] = await Promise.all([ended(child), text(child.stderr!)])
  t.same([code, stderr], [0, ''])
})

t.test('what stdin gave is removed though the results cannot be written', async (t) => {
  const data = join(temporaryFolder(t), 'data.npy')
  await writeTensor(data, Tensor.zeros('float32', [1, 4]))
  const spool = temporaryFolder(t)
  const stdin = openSync(data, 'r')
  const child = trt(['run', model, '-', '--backend', 'cpu', '--json'], 'pipe', stdin, { TMPDIR: spool })
  closeSync(stdin)
  child.stdout!.destroy()
  t.equal(await ended(child), 0)
  t.same(readdirSync(spool), [])
})

t.test(
  'results that cannot be written are a line, and exit with 1',
  { skip: !existsSync('/dev/full') && 'no /dev/full here' },
  async (t) => {
    const full = openSync('/dev/full', 'w')
    const child = trt(['inspect', model, '--json', '--quiet'], full)
    const [code, stderr] = await Promise.all([ended(child), text(child.stderr!)])
    closeSync(full)
    t.equal(code, 1)
    t.match(stderr, /^error: Cannot write the results: ENOSPC.*\n$/)
  },
)
