// trt run on tensors: what it feeds, what it tells, what it writes.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { mobileNetV2 } from '../support/networks/index.js'
import { Engine, readTensor, readTensors, Tensor, writeTensor, writeTensors } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { realModels } from '../support/real-models.js'
import { trt } from './rig.js'

const folder = t.testdir({})
const at = (...names: string[]): string => join(folder, ...names)
const net = at('net.onnx')
const two = at('two.onnx')

t.before(async () => {
  await writeFile(net, writeModel(mobileNetV2.modelOf({ size: 32 })))
  const g = new GraphBuilder({ name: 'two' })
  const [a, ids] = [g.input('a', 'float32', ['n', 'm']), g.input('ids', 'int64', ['m'])]
  g.output(g.node('Div', [a, g.node('Cast', [ids], { to: 1 })], {}, { output: '/head/ratio' }), 'float32', ['n', 'm'])
  g.output(g.node('Add', [ids, ids], {}, { output: 'twice' }), 'int64', ['m'])
  await writeFile(two, writeModel(g.toModel()))
})

const ran = async (...args: string[]) => trt(['run', ...args, '--quiet'])
const document = async (...args: string[]): Promise<any> => {
  const { code, stdout, stderr } = await ran(...args, '--json')
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

t.test('a file of one tensor, for the one input: the outputs are those of the library', async (t) => {
  const input = Tensor.from(
    Float32Array.from({ length: 3 * 32 * 32 }, (_, i) => Math.sin(i)),
    [1, 3, 32, 32],
  )
  await writeTensor(at('x.npy'), input)
  await writeTensors(at('x.json'), { anything: input })
  await writeFile(at('x.raw'), Buffer.from(input.data.buffer))
  await using engine = await Engine.load(net, { backend: 'cpu' })
  const { logits } = (await engine.infer({ [engine.inputNames[0]!]: input })) as { logits: Tensor<'float32'> }
  for (const file of ['x.npy', 'x.json', 'x.raw']) {
    const found = await document(net, at(file), '--output', at('logits.npz'))
    t.same((await readTensors(at('logits.npz')))['logits']!.data, logits.data, file)
    t.match(found, {
      model: net,
      backend: 'cpu',
      failed: [],
      results: [{ file: at(file), written: [at('logits.npz')] }],
    })
    const { min, max, mean, ...told } = found.results[0].outputs.logits
    t.same(told, { dtype: 'float32', shape: [1, 1000], nan: 0, infinite: 0 })
    t.equal(min, Math.min(...logits.data))
    t.equal(max, Math.max(...logits.data))
    t.ok(Math.abs(mean - logits.data.reduce((sum, value) => sum + value, 0) / 1000) < 1e-6)
  }
  const { stdout } = await ran(net, at('x.npy'))
  t.match(stdout, /^output +type +shape +min +mean +max +NaN\nlogits +float32 +1x1000 +-?\d/)
  await ran(net, at('x.npy'), '-o', at('logits.json'))
  t.match(
    JSON.parse(await readFile(at('logits.json'), 'utf8')),
    [{ name: 'logits', dimensions: '1x1000' }],
    "as trtexec's --exportOutput",
  )
  await ran(net, at('x.npy'), '-o', at('plain'))
  t.same(await readdir(at('plain')), ['logits.npy'])
  await ran(net, at('x.npy'), '-o', at('plain'), '--format', 'raw')
  t.equal((await readFile(at('plain', 'logits.raw'))).length, 4000)
})

t.test('several inputs: by --input, by the names in a file, and the rest at random', async (t) => {
  await writeTensor(at('a.npy'), Tensor.from(Float32Array.of(1, 2, 3, -4), [2, 2]))
  await writeTensor(at('ids.npy'), Tensor.from(BigInt64Array.of(2n, 4n)))
  await writeTensors(at('both.npz'), { a: await readTensor(at('a.npy')), ids: await readTensor(at('ids.npy')) })
  await writeFile(at('both.json'), JSON.stringify({ a: [[1, 2], [3, -4]], ids: [2, 4] })) // prettier-ignore
  const ways = [
    ['--input', `a=${at('a.npy')}`, '--input', `ids=${at('ids.npy')}`],
    [at('both.npz')],
    [at('both.json')],
    [at('ids.npy'), '--input', `a=${at('a.npy')}`],
  ]
  for (const way of ways) {
    await document(two, ...way, '--output', at('out'))
    t.same(await readdir(at('out')), ['_head_ratio.npy', 'twice.npy'], 'names that a file can have')
    t.same((await readTensor(at('out', '_head_ratio.npy'))).data, Float32Array.of(0.5, 0.5, 1.5, -1))
    t.same((await readTensor(at('out', 'twice.npy'))).data, BigInt64Array.of(4n, 8n))
  }
  const seeded = await document(two, '--input', `ids=${at('ids.npy')}`, '--random', '--shapes', 'a:2x2,ids:2')
  t.same(
    seeded,
    await document(two, '--input', `ids=${at('ids.npy')}`, '--random', '--shapes', 'a:2x2,ids:2', '--seed', '1'),
  )
  const other = await document(
    two,
    '--input',
    `ids=${at('ids.npy')}`,
    '--random',
    '--shapes',
    'a:2x2,ids:2',
    '--seed',
    '2',
  )
  t.not(seeded.results[0].outputs['/head/ratio'].mean, other.results[0].outputs['/head/ratio'].mean)
  t.match(seeded.results[0].outputs.twice, { min: 4, mean: 6, max: 8, dtype: 'int64' })
})

t.test('raw bytes for a model that leaves several dimensions open: --shapes says them', async (t) => {
  const [name, ids] = [at('pair.raw'), ['--input', `ids=${at('ids.npy')}`]]
  await writeFile(name, Buffer.from(Float32Array.of(1, 2, 3, -4, 5, 6).buffer))
  for (const way of [
    [name, ...ids],
    ['--input', `a=${name}`, ...ids],
  ]) {
    await document(two, ...way, '--shapes', 'a:3x2,ids:2', '--output', at('out'))
    t.same((await readTensor(at('out', '_head_ratio.npy'))).shape, [3, 2])
    const open = await ran(two, ...way)
    t.match(open, {
      code: 2,
      stdout: '',
      stderr: /pair\.raw is raw bytes, and input "a" .* --shapes a:NxN \(ERR_TRT_SHAPES_REQUIRED\)/,
    })
    t.match(await ran(two, ...way, '--shapes', 'a:2x2,ids:2'), {
      code: 2,
      stderr: /Expected 16 bytes in .*pair\.raw.* but found 24/,
    })
  }
})

t.test('outputs do not take the place of inputs', async (t) => {
  const inputs = at('inputs')
  await mkdir(inputs)
  const files = ['a', 'b'].map((name) => join(inputs, `${name}.npy`))
  for (const file of files) await writeTensor(file, Tensor.zeros('float32', [1, 3, 32, 32]))
  const before = await readFile(files[0]!)
  for (const args of [
    [inputs, '-o', inputs],
    [...files, '-o', join(inputs, '..', 'inputs')],
    [files[0]!, '-o', files[0]!],
    ['--input', `${(await Engine.load(net, { backend: 'cpu' })).inputNames[0]}=${files[0]}`, '-o', files[0]!],
  ])
    t.match(await ran(net, ...args), { code: 2, stdout: '', stderr: /Cannot write .*a\.npy: it is read as an input/ })
  t.same(await readFile(files[0]!), before)
})

t.test('infinity and NaN are counted, and stand in the table', async (t) => {
  await writeFile(at('zero.json'), JSON.stringify({ a: [[0, 1], [2, 3]], ids: [0, 0] })) // prettier-ignore
  const { outputs } = (await document(two, at('zero.json'))).results[0]
  t.match(outputs['/head/ratio'], { min: null, mean: null, max: null, nan: 1, infinite: 3 })
  t.match((await ran(two, at('zero.json'))).stdout, /max +NaN +inf\n\/head\/ratio +float32 +2x2 +- +- +- +1 +3/)
})

t.test('a folder, a pattern: one inference for each file; a bad one is told, the others are done', async (t) => {
  await mkdir(at('many'))
  for (const name of ['b', 'a', 'c'])
    await writeTensor(at('many', `${name}.npy`), Tensor.zeros('float32', [1, 3, 32, 32]))
  await writeFile(at('many', 'readme.txt'), 'no tensor')
  const found = await document(net, at('many'), '--output', at('each'))
  t.same(
    found.results.map(({ written }: { written: string[] }) => written[0]),
    ['a', 'b', 'c'].map((name) => at('each', `${name}.npy`)),
  )
  await writeFile(at('many', 'bad.npy'), 'no array')
  await writeTensor(at('many', 'large.npy'), Tensor.zeros('float32', [1, 3, 64, 64]))
  const { code, stdout, stderr } = await ran(net, at('many', '*.npy'), '--json')
  t.equal(code, 1)
  t.match(JSON.parse(stdout), {
    results: { length: 3 },
    failed: [
      { file: /bad\.npy$/, code: 'ERR_TRT_FILE' },
      { file: /large\.npy$/, code: 'ERR_TRT_SHAPE', message: /Expected shape \[.*32, 32\]/ },
    ],
  })
  t.match(stderr, /error: Cannot read .*bad\.npy: expected a \.npy/)
  t.match((await ran(net, at('many'))).stdout, /^file +output .*\na\.npy +logits .*\nb\.npy/)
  await document(two, at('both.npz'), at('both.json'), '--output', at('pairs'))
  t.same((await readdir(at('pairs'), { recursive: true })).sort(), [
    'both',
    'both-2',
    'both-2/_head_ratio.npy',
    'both-2/twice.npy',
    'both/_head_ratio.npy',
    'both/twice.npy',
  ])
})

t.test('what is wrong with the command line is told before a model is opened', async (t) => {
  const wrong = [
    [[], /nothing to run the model on: give files, --input NAME=FILE or --random/],
    [['--input', 'a'], /--input takes NAME=FILE/],
    [['--random', '-o', 'out.txt'], /--output takes a folder, or a file that ends in \.npy/],
    [[at('many'), '-o', at('all.npz')], /--output takes a folder for 5 files/],
    [[at('many', 'readme.txt')], /neither a picture nor a file of tensors/],
    [['--random', '--top', '5'], /--top is of classify, and not of tensors/],
    [['--random', '--task', 'detect'], /--task detect needs --preset.*\nclassify +imagenet/],
    [['--random', '--size', '64'], /--size is of pictures/],
    [['--random', '--format', 'npz'], /--format is of --output/],
    [['--input', 'a=x.npy', '--input', 'a=y.npy'], /--input has "a" twice/],
    [['--random', '--size', '0'], /Expected 640, or 640x480/],
  ] as const
  for (const [args, message] of wrong) {
    const { code, stderr, stdout } = await ran(at('no-model.onnx'), ...args)
    t.same({ code, stdout }, { code: 2, stdout: '' }, args.join(' '))
    t.match(stderr, message)
  }
  const failing = [
    [
      [two, '--input', `b=${at('a.npy')}`],
      /The model has no input "b" for --input: it has "a", "ids" \(ERR_TRT_UNKNOWN_INPUT\)/,
    ],
    [[two, at('a.npy')], /is one tensor, and the model has the inputs a, ids: name them, --input a=/],
    [[two, '--input', `a=${at('a.npy')}`], /ERR_TRT_MISSING_INPUT/],
    [
      [two, '--input', `a=${at('ids.npy')}`, '--random'],
      /Expected float32 for "ids" of .* but found int64 \(ERR_TRT_DTYPE\)/,
    ],
    [[two, '--random'], /ERR_TRT_SHAPES_REQUIRED/],
    [[two, at('both.npz'), '--input', `a=${at('a.npy')}`], /Input "a" comes twice: by --input, and in .*both\.npz/],
    [[net, at('none.npy')], /there is no such file \(ERR_TRT_FILE\)/],
    [[net, at('none-*.npy')], /no file fits this pattern/],
    [[at('no-model.onnx'), '--random'], /ERR_TRT_FILE/],
  ] as const
  for (const [args, message] of failing) {
    const { code, stderr } = await ran(...args)
    t.equal(code, 2, args.join(' '))
    t.match(stderr, message)
  }
})

t.test('a real model of raw bytes: PP-OCR', async (t) => {
  const model = realModels.reader
  await using engine = await Engine.load(model, { backend: 'cpu' })
  const [name] = engine.inputNames as [string]
  const input = Tensor.from(
    Float32Array.from({ length: 3 * 48 * 64 }, (_, i) => Math.cos(i / 7)),
    [1, 3, 48, 64],
  )
  await writeTensor(at('line.npy'), input)
  await document(model, at('line.npy'), '-o', at('line.npz'))
  const outputs = (await engine.infer({ [name]: input })) as Record<string, Tensor>
  const written = await readTensors(at('line.npz'))
  t.same(Object.keys(written), Object.keys(outputs))
  for (const [key, tensor] of Object.entries(outputs))
    t.ok(
      Buffer.from((tensor.data as NodeJS.TypedArray).buffer).equals(
        Buffer.from((written[key]!.data.slice() as NodeJS.TypedArray).buffer),
      ),
    )
})
