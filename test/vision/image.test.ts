import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import sharp, { type Sharp } from 'sharp'
import t, { type Test } from 'tap'
import { encodeImage, readImage, writeImage, type Image } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { noise, pixel, plain } from './helpers.js'

const require = createRequire(import.meta.url)
const photograph = join(dirname(require.resolve('@vladmandic/face-api/package.json')), 'demo/sample2.jpg')
const lfsPointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 12345\n`
const unreadable = (message: RegExp) => failure('ERR_TRT_IMAGE', message)

/** 6 x 4: left half red, right half blue, the uppermost row white. */
const flag: Image = plain(6, 4, [200, 20, 30])
for (let y = 0; y < 4; y++)
  for (let x = y === 0 ? 0 : 3; x < 6; x++) flag.data.set(y === 0 ? [255, 255, 255] : [20, 40, 210], (y * 6 + x) * 3)

function start(image: Image): Sharp {
  return sharp(image.data, { raw: { width: image.width, height: image.height, channels: 3 } })
}

function nearColor(t: Test, image: Image, x: number, y: number, wanted: readonly number[], tolerance: number, name: string): void {
  const actual = pixel(image, x, y)
  t.ok(
    actual.every((value, i) => Math.abs(value - Number(wanted[i])) <= tolerance),
    `${name}: ${actual.join(' ')} is near ${wanted.join(' ')}`,
  )
}

t.test('lossless formats come back as they were', async (t) => {
  const image = noise(13, 7)
  for (const bytes of [
    await encodeImage(image, 'png'),
    await start(image).webp({ lossless: true }).toBuffer(),
    await start(image).tiff({ compression: 'lzw' }).toBuffer(),
  ]) {
    t.same(await readImage(bytes), image)
  }
})

t.test('three channels of 8 bit, whatever the picture has', async (t) => {
  const color = [150, 130, 110] as const
  const picture = start(plain(40, 30, color))
  const kinds: readonly (readonly [string, Sharp, readonly number[], number])[] = [
    ['PNG with alpha', picture.clone().ensureAlpha(0.3).png(), color, 0],
    ['PNG of 16 bit', picture.clone().toColourspace('rgb16').png(), color, 1],
    ['palette', picture.clone().png({ palette: true }), color, 2],
    ['GIF', picture.clone().gif(), color, 4],
    ['JPEG', picture.clone().jpeg(), color, 4],
    ['AVIF', picture.clone().avif({ quality: 90 }), color, 8],
    // There and back, through the profile of a printing press.
    ['CMYK', picture.clone().toColourspace('cmyk').jpeg({ quality: 100 }), color, 12],
  ]
  for (const [name, pipeline, wanted, tolerance] of kinds) {
    const image = await readImage(await pipeline.toBuffer())
    t.match(image, { width: 40, height: 30, channels: 3 })
    t.equal(image.data.length, 3600)
    nearColor(t, image, 20, 15, wanted, tolerance, name)
  }
  for (const pipeline of [
    picture.clone().toColourspace('b-w').png(),
    picture.clone().toColourspace('grey16').png(),
    picture.clone().ensureAlpha(0.5).toColourspace('b-w').png(),
  ]) {
    const [red, green, blue] = pixel(await readImage(await pipeline.toBuffer()), 5, 5)
    t.ok(red === green && green === blue && red !== 0, 'grey')
  }
})

t.test('upright, for each EXIF orientation', async (t) => {
  // What turns an upright picture into one that is stored with an orientation; sharp flips and flops before it rotates.
  const stored: readonly ((picture: Sharp) => Sharp)[] = [
    (picture) => picture,
    (picture) => picture.flop(),
    (picture) => picture.rotate(180),
    (picture) => picture.flip(),
    (picture) => picture.rotate(90).flip(),
    (picture) => picture.rotate(270),
    (picture) => picture.rotate(90).flop(),
    (picture) => picture.rotate(90),
  ]
  for (const [index, turn] of stored.entries()) {
    const raw = await turn(start(flag)).raw().toBuffer({ resolveWithObject: true })
    const turned = await sharp(raw.data, { raw: raw.info })
      .withMetadata({ orientation: index + 1 })
      .png()
      .toBuffer()
    t.same(await readImage(turned), flag, `orientation ${index + 1}`)
  }
})

t.test('paths and bytes give the same', async (t) => {
  const fromPath = await readImage(photograph)
  t.match(fromPath, { width: 1920, height: 1367 })
  const fromBytes = await readImage(new Uint8Array(await readFile(photograph)))
  t.ok(Buffer.from(fromBytes.data).equals(fromPath.data))
})

t.test('what cannot be read is named, with the reason', async (t) => {
  const folder = t.testdir({ 'empty.jpg': '', 'text.png': 'no picture', 'lfs.png': lfsPointer })
  const noFile = (message: RegExp) => failure('ERR_TRT_FILE', message)
  await t.rejects(readImage(join(folder, 'missing.jpg')), noFile(/^Cannot read .*missing\.jpg: ENOENT/))
  await t.rejects(readImage(pathToFileURL(join(folder, 'missing.jpg'))), noFile(/missing\.jpg: ENOENT/))
  await t.rejects(readImage(pathToFileURL(join(folder, 'missing.jpg')).href), noFile(/^Cannot read \/.*missing\.jpg: ENOENT/))
  await t.rejects(readImage(folder), noFile(/EISDIR/))
  await t.rejects(readImage(join(folder, 'lfs.png')), noFile(/lfs\.png: it is a Git LFS pointer.*git lfs pull/))
  await t.rejects(readImage(Buffer.from(lfsPointer)), unreadable(/it is a Git LFS pointer.*git lfs pull/))
  const elsewhere = failure('ERR_TRT_INVALID_ARGUMENT', /path or a file: URL for source but received string "https.*download it first/)
  await t.rejects(readImage('https://example.com/a.jpg'), elsewhere)
  await t.rejects(readImage(new URL('https://example.com/a.jpg')), elsewhere)
  await t.rejects(readImage(join(folder, 'empty.jpg')), unreadable(/empty\.jpg: it is empty/))
  await t.rejects(readImage(join(folder, 'text.png')), unreadable(/text\.png: .*unsupported image format/))
  await t.rejects(readImage(new Uint8Array(100)), unreadable(/^Cannot read picture of 100 bytes: .*unsupported/))
})

t.test('truncated pictures are refused, wherever they end', async (t) => {
  const image = noise(64, 48)
  for (const format of ['jpeg', 'png', 'webp', 'tiff', 'avif'] as const) {
    const bytes = await encodeImage(image, format)
    for (const part of [0.05, 0.3, 0.6, 0.9]) {
      await t.rejects(
        readImage(bytes.subarray(0, Math.floor(bytes.length * part))),
        unreadable(/^Cannot read picture of \d+ bytes: /),
        `${format}, ${part}`,
      )
    }
  }
})

t.test('reading can be given up', async (t) => {
  const reason = new Error('enough')
  await t.rejects(readImage(photograph, { signal: AbortSignal.abort(reason) }), reason)
  const controller = new AbortController()
  const reading = readImage(await readFile(photograph), { signal: controller.signal })
  controller.abort(reason)
  await t.rejects(reading, reason)
  t.match(await readImage(photograph, { signal: new AbortController().signal }), { width: 1920 })
})

t.test('writing', async (t) => {
  const folder = t.testdir()
  const image = plain(20, 10, [10, 200, 90])
  for (const [extension, format] of Object.entries({ jpg: 'jpeg', JPEG: 'jpeg', png: 'png', webp: 'webp', avif: 'heif', tif: 'tiff' })) {
    const path = join(folder, `a.${extension}`)
    await writeImage(image, path)
    t.equal((await sharp(path).metadata()).format, format)
    nearColor(t, await readImage(path), 10, 5, [10, 200, 90], 6, path)
  }
  const [small, large] = [
    await encodeImage(noise(99, 99), 'jpeg', { quality: 20 }),
    await encodeImage(noise(99, 99), 'jpeg', { quality: 95 }),
  ]
  t.ok(small.length < large.length / 2, 'quality')
  await t.rejects(writeImage(image, join(folder, 'missing/a.png')), failure('ERR_TRT_FILE', /Cannot write .*missing.a\.png: ENOENT/))
  const tooWide = { ...image, width: 70000, height: 1, data: new Uint8Array(210000) }
  await t.rejects(encodeImage(tooWide, 'jpeg'), unreadable(/^Cannot encode a jpeg of 70000 x 1: /))
})

t.test('misuse', async (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const image = plain(2, 2, [1, 2, 3])
  await t.rejects(readImage(3 as never), invalid(/a path, a file: URL or a Uint8Array for source but received number 3/))
  await t.rejects(readImage(photograph, null as never), invalid(/an object for the options of /))
  await t.rejects(readImage(photograph, { signal: 'now' as never }), invalid(/an AbortSignal for signal/))
  await t.rejects(writeImage(image, 'a.bmp'), invalid(/a path that ends in \.jpg, .* for path but received string "a\.bmp"/))
  await t.rejects(writeImage(image, 1 as never), invalid(/a path for path/))
  await t.rejects(encodeImage(image, 'bmp' as never), invalid(/one of 'jpeg', 'png'/))
  await t.rejects(encodeImage(image, 'jpeg', { quality: 0 }), invalid(/ for quality /))
  await t.rejects(encodeImage({ ...image, height: 3 }, 'jpeg'), invalid(/18 bytes/))
})

t.test('sharp: where there is none the error says what to do, and a linked package finds it from where the program runs', async (t) => {
  // Outside the project's folder, so that its node_modules are not found.
  const folder = await mkdtemp(join(tmpdir(), 'no-sharp-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await cp(new URL('../../lib', import.meta.url), folder, { recursive: true })
  await writeFile(
    join(folder, 'main.mjs'),
    `import { readImage } from ${JSON.stringify(pathToFileURL(join(folder, 'vision/index.js')).href)}
     await readImage(${JSON.stringify(photograph)}).then(({ width }) => console.log(width), ({ code, message }) => console.log(code, message))`,
  )
  const printed = async (cwd: string): Promise<string> =>
    (await promisify(execFile)(process.execPath, [join(folder, 'main.mjs')], { cwd })).stdout
  t.equal(await printed(folder), `ERR_TRT_IMAGE Cannot read ${photograph}: pictures need sharp. To install it: npm install sharp\n`)
  t.equal(await printed(fileURLToPath(new URL('../../..', import.meta.url))), `${(await sharp(photograph).metadata()).width}\n`)
})
