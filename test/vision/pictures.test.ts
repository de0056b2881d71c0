// Pictures of folders and iterables, and batches of them.
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import sharp from 'sharp'
import t from 'tap'
import { Tensor, type TensorRTError } from '../../lib/index.js'
import { GraphBuilder } from '../../lib/onnx/index.js'
import { Calibrator } from '../../lib/quantization/index.js'
import {
  batchesOf,
  encodeImage,
  type Image,
  pictures,
  readImage,
  stretch,
  toTensorSync,
} from '../../lib/vision/index.js'
import { failure, failureOf } from '../support/errors.js'
import { noise } from './helpers.js'

const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

const widths = async (items: AsyncIterable<Image>): Promise<number[]> => (await all(items)).map(({ width }) => width)

/** A picture of noise, told from others by its width. */
const pngOf = async (width: number): Promise<Uint8Array> => encodeImage(noise(width, 4, width), 'png')

async function folderOf(folder: string, names: readonly string[]): Promise<string> {
  for (const [i, name] of names.entries()) await writeFile(join(folder, name), await pngOf(i + 1))
  return folder
}

t.test('a folder: its pictures by name, whenever it is iterated', async (t) => {
  // U+FF5E comes before U+1F600, though its UTF-16 does not
  const names = [
    '\u{1f600}.png',
    '10.png',
    '9.PNG',
    '\u{ff5e}.png',
    'Z.jpg',
    'a.webp',
    '.hidden.png',
    'notes.txt',
    'png',
  ]
  const folder = await folderOf(t.testdir(), names)
  await mkdir(join(folder, 'folder.png'))
  await symlink(join(folder, '9.PNG'), join(folder, 'link.png'))
  const found = pictures(folder)
  const wanted = [2, 3, 5, 6, 3, 4, 1]
  t.same(await widths(found), wanted)
  t.same(await widths(found), wanted, 'once more')
  t.same(await widths(pictures(pathToFileURL(folder))), wanted)
  await writeFile(join(folder, '0.png'), await pngOf(7))
  t.same(await widths(found), [7, ...wanted], 'with what is there by then')
  const [first] = await all(found)
  t.same(first, { ...noise(7, 4, 7), original: { width: 7, height: 4 } })
})

t.test('patterns, and one file', async (t) => {
  // a folder whose name would be a pattern itself
  const root = t.testdir({ '[a] (b)': { deep: {} } })
  const folder = await folderOf(join(root, '[a] (b)'), ['a.png', 'b.png', 'c.webp', '.d.png', 'deep/e.png', 'x[1].png'])
  const before = process.cwd()
  process.chdir(folder)
  t.teardown(() => process.chdir(before))
  const found = pictures('*.png')
  process.chdir(before)
  t.same(await widths(found), [1, 2, 6], 'where it was called')
  await writeFile(join(folder, 'aa.png'), await pngOf(7))
  t.same(await widths(found), [1, 7, 2, 6], 'with what is there by then')
  process.chdir(folder)
  t.same(await widths(pictures('**/*.{png,webp}')), [1, 7, 2, 3, 5, 6])
  t.same(await widths(pictures('x[1].png')), [6], 'a file of that name goes first')
  t.same(await widths(pictures(pathToFileURL(join(folder, 'a.png')))), [1])
  const totals: unknown[] = []
  await all(pictures('?.png', { onProgress: ({ total }) => totals.push(total) }))
  t.same(totals, [2, 2])
})

t.test('iterables of paths, URLs and bytes', async (t) => {
  const folder = await folderOf(t.testdir(), ['a.png', 'b.png'])
  const sources = [join(folder, 'b.png'), pathToFileURL(join(folder, 'a.png')), await pngOf(9)]
  const listed = pictures(sources)
  t.same(await widths(listed), [2, 1, 9])
  t.same(await widths(listed), [2, 1, 9], 'an array can be iterated again')
  const once = pictures(sources.values())
  t.same(await widths(once), [2, 1, 9])
  t.same(await widths(once), [], 'a generator cannot')
  t.same(await widths(pictures(Readable.from(sources.slice(0, 1)))), [2])
})

t.test('how they are read, and how far they are', async (t) => {
  const folder = await folderOf(t.testdir(), ['a.png', 'b.png', 'c.png'])
  const seen: object[] = []
  const onProgress = (progress: object): number => seen.push(progress)
  t.same(await widths(pictures(folder, { onProgress })), [1, 2, 3])
  const counted = [1, 2, 3].map((done) => ({ done, total: 3 }))
  t.same(seen.splice(0), counted)
  const paths = ['a.png', 'b.png', 'c.png'].map((name) => join(folder, name))
  await all(pictures(new Set(paths), { onProgress }))
  t.same(seen.splice(0), counted, 'a Set')
  for await (const { width } of pictures(paths.values(), { onProgress })) {
    t.equal(seen.length, width - 1, 'once the next one is asked for')
    if (width === 2) break
  }
  t.same(seen.splice(0), [{ done: 1 }], 'nobody knows how many')
  const mine = new Error('mine')
  const throwing = (): never => {
    throw mine
  }
  await t.rejects(all(pictures(folder, { onProgress: throwing })), mine)
  const jpeg = await encodeImage(noise(90, 90), 'jpeg')
  t.same(await widths(pictures([jpeg, jpeg], { shrink: 30, icc: 'ignore' })), [30, 30])
  await t.rejects(all(pictures([jpeg], { limitPixels: 8099 })), failure('ERR_TRT_IMAGE', /8100 pixels/))
  t.throws(() => pictures([], { page: -1 }), invalid(/for page/))
  t.throws(() => pictures([], { onProgress: 1 as never }), invalid(/a function for onProgress/))
})

t.test('what cannot be read', async (t) => {
  const folder = await folderOf(t.testdir({ empty: { 'notes.txt': '' } }), ['a.png', 'c.png'])
  const noFile = (message: RegExp) => failure('ERR_TRT_FILE', message)
  await t.rejects(all(pictures(join(folder, 'missing'))), noFile(/^Cannot read .*missing: there is no such folder$/))
  await t.rejects(all(pictures(join(folder, 'a.png', 'b.png'))), noFile(/a\.png is a file, and a folder is expected$/))
  const pattern = join(folder, '*.webp')
  await t.rejects(all(pictures(pattern)), {
    ...noFile(/^Cannot read .*\*\.webp: no file fits this pattern$/),
    details: { path: pattern },
  })
  await t.rejects(all(pictures(join(folder, 'empty'))), noFile(/empty: it has none \(files that end in .*\.webp\)$/))
  await mkdir(join(folder, 'empty', 'deep'))
  await t.rejects(
    all(pictures(join(folder, 'empty'))),
    noFile(/To fix: a pattern enters folders: '.*empty\/\*\*\/\*\./),
  )
  await writeFile(join(folder, 'b.png'), 'none')
  const seen: number[] = []
  const reading = async (): Promise<void> => {
    for await (const { width } of pictures(folder)) seen.push(width)
  }
  await t.rejects(reading(), failure('ERR_TRT_IMAGE', /b\.png/))
  t.same(seen, [1], 'those before it')
  await t.rejects(
    all(pictures([7 as never])),
    invalid(/a path, a file: URL, bytes .* for source but received number 7/),
  )
  const refused: readonly [unknown, RegExp][] = [
    ...[7, null, {}].map((wrong): [unknown, RegExp] => [wrong, /or an iterable of pictures, for source but received/]),
    [new Uint8Array(3), /received Uint8Array: a list of one picture is \[it\]$/],
    [new Blob([]), /received Blob: await its arrayBuffer\(\)$/],
    [Promise.resolve([]), /received a Promise: await it$/],
    [sharp({ create: { width: 1, height: 1, channels: 3, background: 'red' } }), /Sharp: await its toBuffer\(\)$/],
    [Readable.from([Buffer.of(1)], { objectMode: false }), /Readable: read it into a Buffer first/],
    [new Blob(['x']).stream(), /ReadableStream: read it into a Buffer first/],
    [Tensor.zeros('uint8', [1, 1, 3]), /received Tensor$/],
  ]
  for (const [wrong, message] of refused) t.throws(() => pictures(wrong as never), invalid(message))
  t.throws(() => toTensorSync(Tensor.zeros('uint8', [1, 1, 3]) as never, (size) => stretch(size, size)), invalid(/received Tensor: \{ width: W, height: H/)) // prettier-ignore
  t.throws(() => pictures('https://example.com/folder'), invalid(/a path or a file: URL for source/))
  t.throws(() => pictures(folder, { signal: 1 as never }), invalid(/an AbortSignal for signal/))
})

t.test('onError: pictures that cannot be read are passed over, wherever they come from', async (t) => {
  const folder = await folderOf(t.testdir({ 'b.png': 'none' }), ['a.png', 'c.png'])
  const paths = ['a.png', 'b.png', 'c.png', 'gone.png'].map((name) => join(folder, name))
  const failed: unknown[] = []
  const onError = (error: TensorRTError, index: number, source: unknown): number =>
    failed.push([error.code, index, source])
  const done: number[] = []
  const onProgress = ({ done: count }: { readonly done: number }): number => done.push(count)
  const ofB = ['ERR_TRT_IMAGE', 1, paths[1]]
  const ofGone = ['ERR_TRT_FILE', 3, paths[3]]
  t.same(await widths(pictures(folder, { onError, onProgress })), [1, 2])
  t.same([failed.splice(0), done], [[ofB], [1, 2, 3]])
  t.same(await widths(pictures(join(folder, '*.png'), { onError })), [1, 2])
  t.same(failed.splice(0), [ofB])
  t.same(await widths(pictures(paths, { onError })), [1, 2])
  t.same(await widths(pictures(paths.values(), { onError })), [1, 2])
  t.same(failed.splice(0), [ofB, ofGone, ofB, ofGone])
  const mine = new Error('mine')
  const throwing = (): never => {
    throw mine
  }
  await t.rejects(all(pictures(folder, { onError: throwing })), mine)
  const stopping = new AbortController()
  const stop = (): void => stopping.abort(mine)
  await t.rejects(all(pictures(folder, { onError: stop, signal: stopping.signal })), mine)
  await t.rejects(
    all(pictures(join(folder, 'none'), { onError })),
    failure('ERR_TRT_FILE', /none/),
    'there is no folder',
  )
})

t.test('onSkip: what of a folder is not read', async (t) => {
  const folder = await folderOf(t.testdir({ sub: {}, 'notes.txt': '', '.hidden': '' }), ['a.png'])
  const skipped: unknown[] = []
  const onSkip = (path: string, reason: string): number => skipped.push([path, reason])
  t.same(await widths(pictures(folder, { onSkip })), [1])
  t.same(skipped.sort(), [
    [join(folder, 'notes.txt'), 'ending'],
    [join(folder, 'sub'), 'folder'],
  ])
})

t.test('a pattern takes endings in upper case, too, and nothing else', async (t) => {
  const folder = await folderOf(t.testdir({ deep: {} }), [
    'A.PNG',
    'a.png',
    'b.webp',
    'c.Png',
    'deep/D.WEBP',
    'x.y.PNG',
  ])
  const found = async (pattern: string): Promise<number[]> => widths(pictures(join(folder, pattern)))
  t.same(await found('*.png'), [1, 2, 4, 6])
  t.same(await found('**/*.{png,webp}'), [1, 2, 3, 4, 5, 6])
  t.same(await found('?.@(png|WebP)'), [1, 2, 3, 4])
  t.same(await found('a*.png'), [2], 'names are as they are')
})

t.test('a name that is not UTF-8 is told as such', async (t) => {
  const folder = await folderOf(t.testdir({}), ['a.png'])
  const bytes = Buffer.concat([Buffer.from(`${folder}/b`), Buffer.of(0xff), Buffer.from('.png')])
  await writeFile(bytes, await pngOf(9))
  const failed: string[] = []
  t.same(await widths(pictures(folder, { onError: ({ message }) => failed.push(message) })), [1])
  t.match(failed, [/^Cannot read .*b\uFFFD\.png: the name "b\uFFFD\.png" is not valid UTF-8\. To fix: rename it$/])
  await t.rejects(
    readImage(join(folder, 'c\uFFFD.png')),
    failure('ERR_TRT_FILE', /there is no such file/),
    'one that is not there',
  )
})

t.test('an iteration ends with its signal', async (t) => {
  const folder = await folderOf(t.testdir(), ['a.png', 'b.png'])
  const reason = new Error('enough')
  await t.rejects(all(pictures(folder, { signal: AbortSignal.abort(reason) })), reason)
  const controller = new AbortController()
  const [one, two] = [
    pictures(folder, { signal: controller.signal })[Symbol.asyncIterator](),
    pictures(folder)[Symbol.asyncIterator](),
  ]
  t.match(await one.next(), { value: { width: 1 } })
  t.match(await two.next(), { value: { width: 1 } })
  controller.abort(reason)
  await t.rejects(one.next(), reason)
  t.match(await two.next(), { value: { width: 2 } })
})

const input = (image: Image): Tensor<'float32'> =>
  toTensorSync(image, stretch(image, { width: 6, height: 4 }), { std: 255 })

t.test('batches: so many at a time, the last with what is left', async (t) => {
  const images = [1, 2, 3, 4, 5].map((width) => noise(width, 4, width))
  const frames = images.map((image) => stretch(image, { width: 6, height: 4 }))
  const wanted = [0, 2, 4].map((i) => toTensorSync(images.slice(i, i + 2), frames.slice(i, i + 2), { std: 255 }))
  const batches = batchesOf(images, input, { size: 2 })
  t.same(await all(batches), wanted)
  t.same(await all(batches), wanted, 'once more')
  t.same(await all(batchesOf(images, async (image) => input(image), { size: 2 })), wanted, 'prepared in a while')
  t.same(await all(batchesOf(images.slice(0, 2), input)), images.slice(0, 2).map(input), 'one at a time')
  const bytes = (image: Image): Tensor<'uint8'> =>
    toTensorSync(image, stretch(image, { width: 6, height: 4 }), { dtype: 'uint8', layout: 'NHWC' })
  t.same(await all(batchesOf(images, bytes, { size: 5 })), [
    toTensorSync(images, frames, { dtype: 'uint8', layout: 'NHWC' }),
  ])
  const twice = (image: Image): Tensor<'float32'> =>
    toTensorSync([image, image], [stretch(image, 6), stretch(image, 6)])
  t.same(
    (await all(batchesOf(images, twice, { size: 3 }))).map(({ shape }) => shape[0]),
    [6, 4],
  )
})

t.test('what makes no batch', async (t) => {
  const images = [noise(2, 4), noise(3, 4)]
  const own = (image: Image): Tensor<'float32'> => toTensorSync(image, stretch(image, image))
  t.match(await failureOf(() => all(batchesOf(images, own, { size: 2 }))), {
    code: 'ERR_TRT_SHAPE',
    message: /\[1, 3, 4, 2\] and \[1, 3, 4, 3\]/,
  })
  t.equal((await all(batchesOf(images, own))).length, 2, 'alone each is one')
  const mixed = ({ width }: Image): Tensor => Tensor.zeros(width === 2 ? 'int8' : 'uint8', [1, 3])
  t.match(await failureOf(() => all(batchesOf(images, mixed, { size: 2 }))), {
    code: 'ERR_TRT_DTYPE',
    message: /int8 and uint8/,
  })
  await t.rejects(all(batchesOf(images, () => 7 as never)), invalid(/a Tensor for what prepare returns/))
  await t.rejects(all(batchesOf(images, () => Tensor.zeros('int8', []))), invalid(/first dimension/))
  const mine = new Error('mine')
  await t.rejects(all(batchesOf(images, () => Promise.reject(mine))), mine)
  t.throws(() => batchesOf(images, input, { size: 0 }), invalid(/an integer from 1 for size/))
  t.throws(() => batchesOf(7 as never, input), invalid(/an iterable of pictures for items/))
  t.throws(() => batchesOf(images, undefined as never), invalid(/a function for prepare/))
})

t.test('a folder calibrates a model, and is told from others by what it has', async (t) => {
  const folder = await folderOf(t.testdir(), ['a.png', 'b.png', 'c.png'])
  const data = batchesOf(pictures(folder), input, { size: 2 })
  const g = new GraphBuilder({ name: 'scale' })
  g.output(g.node('Neg', [g.input('x', 'float32', ['N', 3, 4, 6])]), 'float32', ['N', 3, 4, 6])
  const cache = join(folder, 'ranges.json')
  const calibrator = new Calibrator(data, { algorithm: 'minmax', cache })
  let runs = 0
  const calibrate = async (): Promise<number | undefined> =>
    (await calibrator.calibrate(g.toModel(), { onProgress: () => runs++ })).ranges.get('x')?.amax
  const bytes = (await all(pictures(folder))).flatMap((image) => [...input(image).data])
  t.equal(await calibrate(), Math.max(...bytes))
  t.equal(await calibrate(), Math.max(...bytes))
  t.equal(runs, 2, 'the same data: nothing was run again')
  await writeFile(join(folder, 'd.png'), await readFile(join(folder, 'a.png')))
  await calibrate()
  t.equal(runs, 4, 'other data')
})
