// What the commands do with files: none is written over that is read, none is lost, and what cannot be written is told
// before the work.
import { execFileSync } from 'node:child_process'
import { copyFile, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Tensor, writeTensor } from '../../lib/index.js'
import { externalFiles, GraphBuilder, loadExternalData, readModel, saveModel } from '../../lib/onnx/index.js'
import { encodeImage, writeImage } from '../../lib/vision/index.js'
import { useFakes } from '../native/fakes.js'
import { oneNode } from '../support/models.js'
import { answering, colours, filled } from '../tasks/models.js'
import { trt, whenTold } from './rig.js'

const { fakes, families } = await useFakes()
const folder = t.testdir({ photos: {}, apart: {} })
const at = (...names: string[]): string => join(folder, ...names)
const there = ['--tensorrt', fakes.trt10]

/** A convolution of pictures, with weights of 4.5 KiB. */
function convolution() {
  const g = new GraphBuilder({ name: 'files', opset: 13 })
  const weights = g.constant(
    'w',
    new Tensor(
      'float32',
      Float32Array.from({ length: 1152 }, (_, i) => Math.sin(i)),
      [16, 8, 3, 3],
    ),
  )
  const x = g.input('x', 'float32', [1, 8, 8, 8])
  g.output(
    g.node('Conv', [x, weights], { pads: [1, 1, 1, 1] }, { name: 'conv', output: 'y' }),
    'float32',
    [1, 16, 8, 8],
  )
  return g.toModel()
}

/** A model that finds one box in each picture. */
const finding = (): Uint8Array =>
  answering(
    [
      filled(
        [1, 5, 21],
        [
          [[0, 0, 0], 32],
          [[0, 1, 0], 32],
          [[0, 2, 0], 20],
          [[0, 3, 0], 20],
          [[0, 4, 0], 0.9],
        ],
      ),
    ],
    { input: [1, 3, 64, 64] },
  )

t.before(async () => {
  await saveModel(convolution(), at('m.onnx'))
  await saveModel(convolution(), at('ext.onnx'), { externalData: true })
  await writeFile(at('relu.onnx'), oneNode('Relu'))
  await writeFile(at('colours.onnx'), colours())
  await writeFile(at('finding.onnx'), finding())
  await writeTensor(
    at('x.npy'),
    Tensor.from(
      Float32Array.from({ length: 512 }, (_, i) => Math.cos(i)),
      [1, 8, 8, 8],
    ),
  )
  const picture = { width: 64, height: 64, channels: 3 as const, data: new Uint8Array(64 * 64 * 3).fill(90) }
  for (const name of ['one', 'two', 'three']) await writeImage(picture, at('photos', `${name}.png`))
  for (const name of ['m', 'relu', 'finding', 'colours'])
    await link(at(`${name}.onnx`), at('apart', `${name}-hard.onnx`))
  for (const name of ['m', 'relu', 'finding', 'colours'])
    await symlink(at(`${name}.onnx`), at('apart', `${name}-soft.onnx`))
})

/** The command line, which has to be refused before any work, with all of these files as they were. */
async function refused(t: Test, args: readonly string[], ...files: string[]): Promise<void> {
  const before = await Promise.all(files.map((file) => readFile(file)))
  const ran = await trt(args)
  t.match(
    ran,
    { code: 2, stdout: '', stderr: /^error: Cannot write .*: it is read as an input.*--force/ },
    args.join(' '),
  )
  const after = await Promise.all(files.map((file) => readFile(file)))
  t.same(after, before, 'it stays as it was')
}

t.test('no command writes over what it reads', async (t) => {
  const ways = (name: string): string[] => [
    at(`${name}.onnx`),
    at('apart', `${name}-hard.onnx`),
    at('apart', `${name}-soft.onnx`),
  ]
  for (const output of ways('relu'))
    await refused(t, ['build', at('relu.onnx'), '-o', output, ...there], at('relu.onnx'))
  for (const output of ways('m')) {
    await refused(t, ['convert', at('m.onnx'), '--fp16', '-o', output], at('m.onnx'))
    await refused(t, ['quantize', at('m.onnx'), '--data', at('x.npy'), '-o', output], at('m.onnx'))
  }
  const blur = [
    'run',
    at('finding.onnx'),
    at('photos/one.png'),
    '--preset',
    'yolov8',
    '--task',
    'blur',
    '--backend',
    'cpu',
  ]
  await refused(t, [...blur, '-o', at('photos/one.png')], at('photos/one.png'))
  await refused(
    t,
    ['quantize', at('m.onnx'), '--data', at('x.npy'), '-o', at('q.onnx'), '--plot', at('x.npy')],
    at('x.npy'),
  )
  await link(at('m.onnx'), at('apart/m.svg'))
  await refused(t, ['inspect', at('m.onnx'), '--draw', at('apart/m.svg')], at('m.onnx'))
  await refused(t, ['bench', at('m.onnx'), '--backend', 'cpu', '--report', at('m.onnx')], at('m.onnx'))
  await refused(t, ['run', at('m.onnx'), at('x.npy'), '-o', at('x.npy')], at('x.npy'))
  await writeFile(at('labels.json'), 'a\nb\nc\n')
  const classify = [
    'run',
    at('colours.onnx'),
    at('photos'),
    '--preset',
    'imagenet',
    '--labels',
    at('labels.json'),
    '-o',
    at('labels.json'),
  ]
  await refused(t, classify, at('labels.json'))
  // of one inference, files in a folder are called as the outputs are
  await copyFile(at('x.npy'), at('apart/y.npy'))
  await refused(t, ['run', at('m.onnx'), at('apart/y.npy'), '-o', at('apart'), '--quiet'], at('apart/y.npy'))
  const drawn = ['run', at('finding.onnx'), at('photos/one-detected.png'), '--preset', 'yolov8', '-o', at('photos')]
  await copyFile(at('photos/one.png'), at('photos/one-detected.png'))
  await copyFile(at('photos/one.png'), at('photos/one-detected-detected.png'))
  await refused(t, [...drawn, at('photos/one-detected-detected.png')], at('photos/one-detected-detected.png'))
  t.match(
    await trt([
      'exec',
      `--onnx=${at('relu.onnx')}`,
      `--saveEngine=${at('relu.onnx')}`,
      '--skipInference',
      `--tensorrt=${fakes.trt10}`,
    ]),
    {
      code: 1,
      stderr: /it is read as an input.*--force/,
    },
  )
  t.ok((await readModel(at('relu.onnx'))).graph, 'trtexec has 0 and 1')
})

t.test('weights in other files, and sidecars, are inputs too', async (t) => {
  await copyFile(at('ext.onnx'), at('shares.onnx'))
  const weights = at('ext.onnx.data')
  await refused(t, ['convert', at('shares.onnx'), '--fp16', '-o', at('ext.onnx')], at('ext.onnx'), weights)
  await refused(t, ['convert', at('ext.onnx'), '--fp16', '-o', weights], weights)
  await refused(t, ['build', at('ext.onnx'), '-o', weights, ...there], weights)
  await copyFile(at('relu.onnx'), at('s.plan.json'))
  await refused(t, ['build', at('s.plan.json'), '-o', at('s.plan'), ...there], at('s.plan.json'))
})

t.test('--force, and results that are no inputs', async (t) => {
  for (const name of ['f.onnx', 'g.onnx']) await copyFile(at('m.onnx'), at(name))
  t.match(await trt(['convert', at('f.onnx'), '--fp16', '-o', at('f.onnx'), '--force']), { code: 0 })
  t.ok((await stat(at('f.onnx'))).size < (await stat(at('m.onnx'))).size)
  t.match(await trt(['convert', at('m.onnx'), '--fp16', '-o', at('g.onnx')]), { code: 0 }, 'another file is replaced')
  t.match(await trt(['quantize', at('m.onnx'), '--data', at('x.npy'), '-o', at('q.onnx'), '--plot', at('q.onnx')]), {
    code: 2,
    stderr: /two results to .*q\.onnx/,
  })
  await copyFile(at('relu.onnx'), at('forced.onnx'))
  t.match(await trt(['build', at('forced.onnx'), '-o', at('forced.onnx'), '--force', ...there]), { code: 0 })
})

t.test('what cannot be written is told before anything is built', async (t) => {
  const { control } = families[0]
  const builds = control.stats().builds.length
  await writeFile(at('other.plan.json'), '{"somebody": "else"}')
  for (const [output, message] of [
    ['/proc/x.plan', /\/proc/],
    [at('no/such/x.plan'), /there is no folder/],
    [at('other.plan'), /other\.plan\.json is where the plan's sidecar goes/],
  ] as const)
    t.match(await trt(['build', at('relu.onnx'), '-o', output, ...there]), { code: 2, stderr: message }, output)
  t.equal(control.stats().builds.length, builds)
  t.match(await trt(['run', at('relu.onnx'), at('x.npy'), '-o', '/proc/no/where/']), {
    code: 2,
    stderr: /Cannot write \/proc\/no/,
  })
  t.same(
    (await readdir(folder)).filter((name) => name.endsWith('.tmp') || name.endsWith('.lock')),
    [],
    'nothing is left beside',
  )
})

t.test('models with weights in other files: convert, quantize and the rest', async (t) => {
  const here = await readModel(at('m.onnx'))
  for (const [args, output] of [
    [['convert', at('ext.onnx'), '--opset', '18'], at('out18.onnx')],
    [['convert', at('ext.onnx'), '--fp16'], at('out16.onnx')],
    [['quantize', at('ext.onnx'), '--data', at('x.npy'), '--weights', 'float32'], at('outq.onnx')],
  ] as const) {
    const ran = await trt([...args, '-o', output])
    t.equal(ran.code, 0, ran.stderr)
    const made = await readModel(output)
    t.same(externalFiles(made), [`${output.slice(folder.length + 1)}.data`], 'in a file of their own again')
    await loadExternalData(made, folder)
    const size = made.graph!.initializer.find(({ dims }) => dims.length === 4)!.rawData.length
    t.equal(size, here.graph!.initializer[0]!.rawData.length / (output.includes('16') ? 2 : 1))
  }
  for (const args of [
    ['inspect', at('ext.onnx'), '--draw', at('ext.svg')],
    ['run', at('ext.onnx'), at('x.npy'), '--backend', 'cpu'],
    ['compare', at('ext.onnx'), at('m.onnx'), '--random', '1', '--backend', 'cpu'],
  ])
    t.equal((await trt(args)).code, 0, args[0]!)
})

t.test('answers are appended to .jsonl as they come: ctrl-C keeps them', async (t) => {
  const args = (...pictures: string[]): string[] => [
    'run',
    at('colours.onnx'),
    ...pictures,
    '--preset',
    'imagenet',
    '--backend',
    'cpu',
    '-o',
    at('answers.jsonl'),
  ]
  await writeFile(at('answers.jsonl'), 'of an earlier run\n'.repeat(100))
  await mkdir(at('bad'))
  await writeFile(at('bad/a.png'), 'no picture')
  const many = [at('photos/one.png'), at('photos/two.png'), at('bad/a.png'), at('photos/three.png')]
  const cut = await trt(args(...many), (session) => whenTold(session, /bad\/a\.png/, () => session.interrupt('SIGINT')))
  t.equal(cut.code, 130)
  const lines = (await readFile(at('answers.jsonl'), 'utf8')).trimEnd().split('\n')
  t.equal(lines.length, 2, 'those before it')
  for (const line of lines) t.match(JSON.parse(line), { file: /photos/, classes: { length: 3 } })
  const { code, stdout } = await trt([...args(at('photos')), '--json'])
  t.equal(code, 0)
  const all = (await readFile(at('answers.jsonl'), 'utf8')).trimEnd().split('\n')
  t.same(
    all.map((line) => JSON.parse(line) as unknown),
    (JSON.parse(stdout) as { results: unknown[] }).results,
  )
  t.equal((await trt(args(at('bad')))).code, 1)
  t.equal(await readFile(at('answers.jsonl'), 'utf8'), '', 'nothing of an earlier run stays')
})

t.test('pipes are refused as pictures, models, labels and weights', async (t) => {
  execFileSync(
    'mkfifo',
    ['pipe.png', 'pipe.onnx', 'pipe.txt', 'pipe.cache'].map((name) => at(name)),
  )
  const bytes = await encodeImage({ width: 4, height: 4, channels: 3, data: new Uint8Array(48) }, 'png')
  await writeFile(at('photos/one.png'), bytes)
  // a picture is told beside the others, and exec has trtexec's codes
  const isLate = (args: readonly string[]): boolean => args[0] === 'exec' || args.includes(at('pipe.png'))
  for (const args of [
    ['run', at('colours.onnx'), at('pipe.png'), '--preset', 'imagenet', '--backend', 'cpu'],
    [
      'run',
      at('colours.onnx'),
      at('photos/one.png'),
      '--preset',
      'imagenet',
      '--backend',
      'cpu',
      '--labels',
      at('pipe.txt'),
    ],
    ['convert', at('pipe.onnx'), '--fp16', '-o', at('x.onnx')],
    ['quantize', at('m.onnx'), '--data', at('x.npy'), '-o', at('x.onnx'), '--calibration', at('pipe.cache')],
    ['build', at('pipe.onnx'), '-o', at('x.plan'), ...there],
    ['build', at('relu.onnx'), '-o', at('x.plan'), '--timing-cache', at('pipe.cache'), ...there],
    [
      'exec',
      `--onnx=${at('relu.onnx')}`,
      `--calib=${at('pipe.cache')}`,
      '--int8',
      '--skipInference',
      `--tensorrt=${fakes.trt10}`,
    ],
  ])
    t.match(await trt(args), { code: isLate(args) ? 1 : 2, stderr: /not an ordinary file/ }, args.join(' '))
})
