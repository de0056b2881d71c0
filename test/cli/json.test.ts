// What --json prints: numbers that JSON has no text for, failures, and no more than a program wants.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { oneNode } from '../support/models.js'
import { trt } from './rig.js'

const home = t.testdir({})
const file = (name: string): string => join(home, name)
writeFileSync(file('relu.onnx'), oneNode('Relu', ['n', 4]))
writeFileSync(file('sqrt.onnx'), oneNode('Sqrt', ['n', 4]))
const onCpu = ['--backend', 'cpu', '--shapes', 'x:2x4', '--json']

t.test('numbers that are not finite are text', async (t) => {
  const same = await trt(['compare', file('relu.onnx'), file('relu.onnx'), ...onCpu])
  t.equal(same.code, 0, same.stderr)
  t.match(JSON.parse(same.stdout), { outputs: { 'the-node': { equal: true, cosine: 1, psnr: 'Infinity' } } })
  const apart = await trt(['compare', file('relu.onnx'), file('sqrt.onnx'), ...onCpu])
  t.equal(apart.code, 3)
  t.match(JSON.parse(apart.stdout), {
    beyond: ['the-node'],
    outputs: { 'the-node': { equal: false, cosine: 'NaN', psnr: '-Infinity' } },
  })
})

t.test('a failure is JSON on stdout too', async (t) => {
  const missing = await trt(['inspect', file('none.onnx'), '--json'])
  t.match(missing, { code: 2, stderr: /ERR_TRT_FILE/ })
  t.match(JSON.parse(missing.stdout), { error: { code: 'ERR_TRT_FILE', message: /none\.onnx/ } })
  t.equal((await trt(['inspect', file('none.onnx')])).stdout, '')
  const exec = await trt(['exec', `--onnx=${file('none.onnx')}`, '--backend=cpu', '--json'])
  t.match(exec, { code: 1, stderr: /&&&& FAILED/ })
  t.match(JSON.parse(exec.stdout), { error: { code: /^ERR_TRT_/, message: /none\.onnx/ } })
})

t.test('bench: each query is in --export-times alone', async (t) => {
  const args = [
    'bench',
    file('relu.onnx'),
    ...onCpu,
    '--warm-up',
    '0',
    '--duration',
    '0',
    '--iterations',
    '5',
    '--export-times',
    file('t.json'),
  ]
  const { code, stdout, stderr } = await trt(args)
  t.equal(code, 0, stderr)
  const told = JSON.parse(stdout) as Record<string, unknown>
  t.ok((told['queries'] as number) >= 5)
  t.notOk('trace' in told)
  t.ok(existsSync(file('t.json')))
})

t.test('exec: a system error has its line with FAILED', async (t) => {
  const args = ['exec', `--onnx=${file('relu.onnx')}`, '--backend=cpu', '--shapes=x:2x4']
  const ran = await trt(args, (session) => {
    const write = session.stdout.write.bind(session.stdout)
    session.stdout.write = (text) => {
      if (text.includes('Starting inference'))
        throw Object.assign(new Error('ENOSPC: no space left, write'), { code: 'ENOSPC', syscall: 'write' })
      return write(text)
    }
  })
  t.match(ran, { code: 1, stdout: /&&&& FAILED TensorRT\.trtexec/, stderr: /ENOSPC/ })
})

t.test('a demand that would not be held, and options of a benchmark, are told before a model is opened', async (t) => {
  t.match(await trt(['audit', file('none.onnx'), '--min-share', '0.9']), { code: 2, stderr: /--min-share.*--expect/ })
  t.match(await trt(['bench', file('none.onnx'), '--duration', 'Infinity']), {
    code: 2,
    stderr: /a number from 0 to 86400/,
  })
  for (const args of [
    ['--duration', '90000'],
    ['--streams', '100'],
    ['--sleep-time', '120000'],
  ])
    t.match(await trt(['bench', file('none.onnx'), ...args]), { code: 2, stderr: /a (whole )?number from/ })
  const streams = await trt(['exec', `--onnx=${file('none.onnx')}`, '--streams=100'])
  t.match(streams, { code: 1, stderr: /a whole number from 1 to 64 for --streams/ })
  const lowest = ['--percentile', '0', '--warm-up', '0', '--duration', '0', '--iterations', '5']
  const { latency } = JSON.parse((await trt(['bench', file('relu.onnx'), ...onCpu, ...lowest])).stdout) as {
    latency: { min: number; percentiles: Record<string, number> }
  }
  t.equal(latency.percentiles['0'], latency.min, 'percentile 0 is the least')
})

t.test('a command line that is wrong is JSON, too', async (t) => {
  for (const args of [
    ['build', 'x.onnx', '--json'],
    ['run', 'x.onnx', '--fp61', '--json'],
    ['bild', '--json'],
  ]) {
    const { code, stdout, stderr } = await trt(args)
    t.equal(code, 2)
    const { error } = JSON.parse(stdout) as { readonly error: Record<string, string> }
    t.match(error, { code: 'ERR_TRT_INVALID_ARGUMENT', message: /^[^e]/ })
    t.match(stderr, /error: /)
  }
  t.equal((await trt(['bild', '--', '--json'])).stdout, '')
})

t.test('quiet and verbose', async (t) => {
  const args = ['run', file('relu.onnx'), '--backend', 'cpu', '--random', '--shapes', 'x:2x4']
  t.equal((await trt([...args, '-q'])).stderr, '')
  const failed = await trt(['run', file('none.onnx'), '--random', '-v'])
  t.match(failed, { code: 2, stderr: /error: [^]*\n {4}at / })
})

t.test('what stdin gives is a file of what it is', async (t) => {
  const model = file('relu.onnx')
  const numbers = Buffer.from(JSON.stringify({ x: [[1, -2, 3, 4]] }))
  const ran = await trt(['run', model, '-', '--backend', 'cpu', '--json', '-q'], undefined, numbers)
  t.match(ran, { stdout: /"file": "-"/ }, ran.stderr)
  const named = await trt(['run', model, '--input', 'x=-', '--backend', 'cpu', '--json', '-q'], undefined, numbers)
  t.equal(named.code, ran.code, named.stderr)
  t.match(await trt(['run', model, '-', '--backend', 'cpu']), { code: 2, stderr: /Cannot read -: stdin gave nothing/ })
})
