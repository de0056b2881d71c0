// The list of bench gpu on the fakes: which rows it measures, when it stops, and where a later call goes on.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type GpuRow, gpuRows, openRows, type Platform, readRows, type RowLine } from '../../bench/support/gpu-rows.js'
import { rowsOf } from '../../bench/support/parts.js'
import { packageRoot } from '../../lib/base/package.js'
import { buildFakes } from '../fake/build.js'
import { type Ended, runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'

const fakes = await buildFakes()
const env = { NODE_TENSORRT_LIBCUDA: fakes.cuda, TENSORRT_PATH: fakes.trt10, FAKE_TRT_VERSION: '10.6.0' }
const program = join(packageRoot(), 'dist', 'bench', 'gpu.js')

interface Called extends Ended {
  /** Row and status of each line that the call has added. */
  readonly added: readonly string[]
}

/** A list whose calls share a folder. */
function listIn(t: Test, more: NodeJS.ProcessEnv = {}): (...args: string[]) => Promise<Called> {
  const folder = temporaryFolder(t)
  const file = join(folder, 'gpu-rows.jsonl')
  const lines = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [])
  return async (...args) => {
    const before = lines().length
    const options = ['--stand-in', '--quick', '--json', '--out', folder, '--work', join(folder, 'work')]
    const called = await runNode([program, ...options, ...args], folder, 500_000, { ...env, ...more })
    const added = lines()
      .slice(before)
      .map((line) => JSON.parse(line) as RowLine)
    return { ...called, added: added.map(({ row, status }) => `${row} ${status}`) }
  }
}

/** Speaks as torch_peer.py does: what the stand-in computes, twice as large in half precision, and no eager mode. */
const torchPeer = `#!${process.execPath}
const { readFileSync, writeFileSync } = require('node:fs')
const say = (answer) => console.log(JSON.stringify(answer))
const x = readFileSync(process.argv[5])
const y = new Float32Array(x.buffer, x.byteOffset, x.byteLength / 4).map((value) => Math.max(value, 0))
say({ about: 'a peer of the test' })
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { way, output, ms } = JSON.parse(line)
  if (way.startsWith('eager')) return say({ error: 'no eager mode' })
  if (ms !== undefined) return say({ ms: 7, calls: 1 })
  if (way.endsWith('-fp16')) y[0] += 100
  writeFileSync(output, y)
  say({})
})
`

t.test('measures the named rows beside torch, and none of them again', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'python3'), torchPeer, { mode: 0o755 })
  const call = listIn(t, { PATH: `${folder}:${process.env['PATH']}` })
  const names = ['segmentation-160', 'resnet50-fp16']
  const { stdout, ...called } = await call(...names)
  t.match(called, { added: ['resnet50-fp16 measured', 'segmentation-160 measured'] }, 'in the order of the list')
  t.equal(called.code, 1, 'a peer failed')
  const rows = rowsOf(stdout).filter(({ part }) => part === 'resnet50-fp16')
  const what = 'latency p50, ResNet-50 224x224, batch 1, fp16 vs. '
  t.match(rows, [
    { what: `${what}torchscript`, peer: 7, note: /^cosine 1\.00000; .*a peer of the test, cosine 1\.00000$/ },
    { what: `${what}torchscript-fp16`, peer: 7, note: /^cosine 1\.00000; .*, cosine 0\.89\d+$/ },
    { what: `${what}eager`, failed: 'Python: no eager mode' },
    { what: `${what}eager-fp16`, failed: 'Python: no eager mode' },
  ])
  t.match(await call(...names), { added: [], stderr: /no row is left/ })
})

t.test('kills a row at its limit and at the end of the list, and goes on with both in the next call', async (t) => {
  const call = listIn(t)
  const names = ['segmentation-160', 'mobilenetv2']
  t.match(await call('--limit', '0.05', 'segmentation-160'), { code: 1, added: ['segmentation-160 over'] })
  t.match(
    await call('--seconds', '0.05', '--limit', '0.1', ...names),
    { added: ['mobilenetv2 interrupted'], stderr: /left for the next call: mobilenetv2, segmentation-160/ },
    'what was not tried comes first',
  )
  t.match(await call(...names), { code: 0, added: ['mobilenetv2 measured', 'segmentation-160 measured'] })
})

t.test('a row that cannot be built has its error, and is not tried again', async (t) => {
  const folder = temporaryFolder(t)
  const failing = { ...env, FAKE_TRT_FAIL: 'buildSerializedNetwork:1:sticky' }
  const options = ['--stand-in', '--quick', '--out', folder, '--work', join(folder, 'work')]
  const { code, stdout } = await runNode([program, ...options, 'mobilenetv2'], folder, 500_000, failing)
  t.equal(code, 1)
  t.match(stdout, /FAILED mobilenetv2: /)
  const lines = readFileSync(join(folder, 'gpu-rows.jsonl'), 'utf8').trimEnd().split('\n')
  t.match(
    lines.map((line) => JSON.parse(line) as unknown),
    [{ row: 'mobilenetv2', status: 'failed', error: /\S/ }],
  )
})

t.test('says what is missing where there is no GPU', async (t) => {
  const folder = temporaryFolder(t)
  const without = { NODE_TENSORRT_LIBCUDA: join(folder, 'none'), TENSORRT_PATH: fakes.trt10 }
  const { code, stderr } = await runNode([program, '--out', folder], folder, 500_000, without)
  t.equal(code, 1)
  t.match(stderr, /needs an NVIDIA GPU/)
  t.notOk(existsSync(join(folder, 'gpu-rows.jsonl')))
})

const on: Platform = { gpu: 'GPU', cuda: '13.0', tensorrt: 'full 10.6.0' }
const head = (row: string): { row: string; date: string; on: Platform } => ({ row, date: '2026-01-01T00:00:00Z', on })
const failed = (row: string): RowLine => ({ ...head(row), status: 'failed', error: 'an error' })
const over = (row: string): RowLine => ({ ...head(row), status: 'over', seconds: 40, stage: 'building' })
const interrupted = (row: string): RowLine => ({ ...head(row), status: 'interrupted', stage: 'building' })
const named = (...names: string[]): GpuRow[] => names.map((name) => ({ ...gpuRows[0]!, name }))

t.test('which rows are open follows from the lines', async (t) => {
  const rows = named('a', 'b', 'c', 'd')
  const open = (...lines: RowLine[]): string[] => openRows(lines, rows).map(({ name }) => name)
  t.same(open(), ['a', 'b', 'c', 'd'])
  t.same(open(failed('a'), interrupted('b')), ['b', 'c', 'd'])
  t.same(open(over('a')), ['b', 'c', 'd', 'a'])
  t.same(open(over('a'), over('b'), over('a')), ['c', 'd', 'b'])
})

t.test('lines of another GPU or library do not count, and neither does a torn line', async (t) => {
  const folder = temporaryFolder(t)
  const lines = [failed('a'), { ...failed('b'), on: { ...on, tensorrt: 'full 10.15.1' } }].map((line) =>
    JSON.stringify(line),
  )
  writeFileSync(join(folder, 'gpu-rows.jsonl'), `${lines.join('\n')}\n{"row":"c","sta`)
  t.same(readRows(folder, on), [failed('a')])
})

t.test('the list is in the order of worth, torch.compile last', async (t) => {
  t.same(
    gpuRows.map(({ name }) => name),
    [
      ...['unet-int8', 'unet-fp16', 'unet-fp32', 'resnet50-fp16'],
      ...['segmentation-160', 'segmentation-512', 'segmentation-1024', 'mobilenetv2', 'unet-compile'],
    ],
  )
})
