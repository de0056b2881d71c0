import { execFile } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import sharp, { type Sharp } from 'sharp'
import t, { type Test } from 'tap'
import { encodeImage, readImage, readImageInfo, writeImage, type Image } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
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

function nearColor(
  t: Test,
  image: Image,
  x: number,
  y: number,
  wanted: readonly number[],
  tolerance: number,
  name: string,
): void {
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
    t.same(await readImage(bytes), { ...image, original: { width: 13, height: 7 } })
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
    t.same(await readImage(turned), { ...flag, original: { width: 6, height: 4 } }, `orientation ${index + 1}`)
  }
})

t.test('paths and bytes give the same', async (t) => {
  const fromPath = await readImage(photograph)
  t.match(fromPath, { width: 1920, height: 1367 })
  const fromBytes = await readImage(new Uint8Array(await readFile(photograph)))
  t.ok(Buffer.from(fromBytes.data).equals(fromPath.data))
})

t.test('reads an SVG by how it begins, not by an <svg somewhere in a text', async (t) => {
  const root = '<svg xmlns="http://www.w3.org/2000/svg" width="3" height="2"><rect width="3" height="2"/></svg>'
  const doctype =
    '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [<!ENTITY a "]">]>'
  for (const prefix of [
    '',
    '\uFEFF',
    ' \n',
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    '<!-- the <svg of a drawing -->',
    `\uFEFF<?xml version="1.0"?>\n<!-- a -->\n<!-- b -->\n${doctype}\n<!-- c -->`,
  ])
    t.match(await readImage(Buffer.from(prefix + root)), { width: 3, height: 2 }, JSON.stringify(prefix))
  for (const [text, why] of [
    [`an inline ${root}`, /it is text that begins with "an inline <svg/],
    [`// const icon = '${root}'`, /it is text that begins with/],
    [`<!DOCTYPE html><html><body>${root}</body></html>`, /it is a web page \(HTML\)/],
    [`<drawings>${root}</drawings>`, /it is XML/],
    [`{ "icon": '${root}' }`, /it is JSON/],
    [`<!-- never closed ${root}`, /it is XML/],
  ] as const)
    await t.rejects(readImage(Buffer.from(text)), unreadable(why), text.slice(0, 20))
})

t.test('what cannot be read is named, with the reason', async (t) => {
  const folder = t.testdir({ 'empty.jpg': '', 'text.png': 'no picture', 'lfs.png': lfsPointer })
  const noFile = (message: RegExp) => failure('ERR_TRT_FILE', message)
  await t.rejects(readImage(join(folder, 'missing.jpg')), noFile(/^Cannot read .*missing\.jpg: there is no such file$/))
  await t.rejects(readImage(pathToFileURL(join(folder, 'missing.jpg'))), noFile(/missing\.jpg: there is no such file/))
  await t.rejects(
    readImage(pathToFileURL(join(folder, 'missing.jpg')).href),
    noFile(/^Cannot read \/.*missing\.jpg: there is no such file/),
  )
  await t.rejects(readImage(folder), noFile(/^Expected a file but .* is a folder$/))
  await t.rejects(readImage(join(folder, 'lfs.png')), noFile(/lfs\.png: it is a Git LFS pointer.*git lfs pull/))
  await t.rejects(readImage(Buffer.from(lfsPointer)), unreadable(/it is a Git LFS pointer.*git lfs pull/))
  const elsewhere = failure(
    'ERR_TRT_INVALID_ARGUMENT',
    /path or a file: URL for source but received string "https.*download it first/,
  )
  await t.rejects(readImage('https://example.com/a.jpg'), elsewhere)
  await t.rejects(readImage(new URL('https://example.com/a.jpg')), elsewhere)
  await t.rejects(readImage(join(folder, 'empty.jpg')), unreadable(/empty\.jpg: it is empty/))
  await t.rejects(readImage(join(folder, 'text.png')), unreadable(/text\.png: it is text that begins with/))
  await t.rejects(
    readImage(new Uint8Array(100)),
    unreadable(/^Cannot read picture of 100 bytes: it is a file of an unknown kind that begins with the bytes 00000/),
  )
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

t.test('pixels are limited before anything is decoded', async (t) => {
  const image = noise(30, 20)
  const png = Buffer.from(await encodeImage(image, 'png'))
  t.match(await readImage(png, { limitPixels: 600 }), { width: 30 })
  await t.rejects(
    readImage(png, { limitPixels: 599 }),
    unreadable(/it has 600 pixels \(30 x 20\), limitPixels allows 599$/),
  )
  // a head that says 60,000 x 50,000, with its sum, before the pixels of 30 x 20
  png.writeUInt32BE(60_000, 16)
  png.writeUInt32BE(50_000, 20)
  png.writeUInt32BE(crc32(png.subarray(12, 29)), 29)
  await t.rejects(
    readImage(png),
    unreadable(/it has 3000000000 pixels \(60000 x 50000\), limitPixels allows 268402689$/),
  )
  t.match(await readImageInfo(png), { width: 60_000, height: 50_000, format: 'png' })
})

t.test('what a file says of a picture, without decoding it', async (t) => {
  const wanted = { width: 1920, height: 1367, format: 'jpeg', channels: 3, hasAlpha: false, pages: 1, orientation: 1 }
  t.same(await readImageInfo(photograph), wanted)
  t.same(await readImageInfo((await readFile(photograph)).subarray(0, 100_000)), wanted, 'of the first bytes, too')
  const avif = await start(noise(16, 8)).ensureAlpha(0.5).avif().toBuffer()
  t.match(await readImageInfo(avif), { width: 16, height: 8, format: 'avif', channels: 4, hasAlpha: true })
  await t.rejects(
    readImageInfo(Buffer.from('none')),
    unreadable(/^Cannot read picture of 4 bytes: it is text that begins with "none"/),
  )
  await t.rejects(
    readImageInfo(photograph, { page: 1 } as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /Unknown option "page"/),
  )
  const reason = new Error('enough')
  await t.rejects(readImageInfo(photograph, { signal: AbortSignal.abort(reason) }), reason)
})

t.test('a background shows through a picture in grey in its own colour', async (t) => {
  const pairs = Uint8Array.from({ length: 2 * 64 }, (_, i) => (i % 2 === 0 ? i * 2 : (i * 37) % 256))
  pairs.set([0, 0, 255, 0, 90, 255])
  const rgba = Uint8Array.from({ length: 4 * 64 }, (_, i) => pairs[2 * Math.floor(i / 4) + (i % 4 === 3 ? 1 : 0)]!)
  const of = (data: Uint8Array | Uint16Array, channels: 2 | 4): Sharp =>
    sharp(data, { raw: { width: 8, height: 8, channels } })
  const grey = of(pairs, 2)
  const deep = of(
    Uint16Array.from(pairs, (value) => value * 257),
    2,
  )
  const kinds = {
    'PNG': grey.clone().toColourspace('b-w').png(),
    'PNG of 16 bit': deep.clone().toColourspace('grey16').png(),
    'WebP': grey.clone().webp({ lossless: true }),
    'PNG of RGBA': of(rgba, 4).png(),
  } // prettier-ignore
  for (const [name, pipeline] of Object.entries(kinds)) {
    const bytes = await pipeline.toBuffer()
    t.equal((await sharp(bytes).metadata()).channels, name === 'PNG' || name === 'PNG of 16 bit' ? 2 : 4, `${name}: its channels`)
    for (const background of [[255, 0, 128], [124, 116, 104], 77] as const) {
      const { data } = await readImage(bytes, { background })
      const colour = typeof background === 'number' ? [background, background, background] : background
      const apart = data.reduce((most, value, i) => {
        const [v, alpha] = [pairs[2 * Math.floor(i / 3)]!, pairs[2 * Math.floor(i / 3) + 1]! / 255]
        return Math.max(most, Math.abs(value - (v * alpha + colour[i % 3]! * (1 - alpha))))
      }, 0)
      t.ok(apart <= 1.01, `${name} on ${String(background)}: ${apart} apart`)
      t.same([...data.subarray(0, 9)], [...colour, ...colour, 90, 90, 90], `${name}: what is transparent is the background, what is opaque itself`)
    }
  } // prettier-ignore
})

t.test('shrinking: at least so large, of what can be decoded smaller', async (t) => {
  const bytes = await readFile(photograph)
  const original = { width: 1920, height: 1367 }
  for (const [shrink, width, height] of [
    [1, 213, 151],
    [151, 213, 151],
    [152, 384, 273],
    [{ width: 214, height: 1 }, 384, 273],
    [{ width: 640, height: 455 }, 640, 455],
    [456, 1920, 1367],
    [5000, 1920, 1367],
  ] as const) {
    const { data, ...size } = await readImage(bytes, { shrink })
    t.same(size, { width, height, channels: 3, original }, JSON.stringify(shrink))
    t.equal(data.length, width * height * 3)
  }
  const picture = start(noise(90, 90))
  const transparent = picture.clone().ensureAlpha(0.5)
  for (const whole of [picture.clone().png(), picture.clone().tiff(), picture.clone().gif(), transparent.webp()])
    t.match(await readImage(await whole.toBuffer(), { shrink: 10 }), {
      width: 90,
      height: 90,
      original: { width: 90, height: 90 },
    })
  t.match(await readImage(await picture.clone().webp().toBuffer(), { shrink: 10 }), {
    width: 10,
    height: 10,
    original: { width: 90 },
  })
})

t.test('a page that is not there', async (t) => {
  const missing = (message: RegExp) => unreadable(new RegExp(`counted from 0, and none is ${message.source}$`))
  await t.rejects(readImage(photograph, { page: 1 }), missing(/1/))
  const frames = Buffer.concat([noise(4, 4, 1).data, noise(4, 4, 2).data])
  const gif = await sharp(frames, { raw: { width: 4, height: 8, channels: 3, pageHeight: 4 } })
    .gif()
    .toBuffer()
  t.match(await readImageInfo(gif), { width: 4, height: 4, pages: 2 })
  t.match(await readImage(gif, { page: 1 }), { width: 4, height: 4 })
  await t.rejects(readImage(gif, { page: 2 }), missing(/2/))
})

t.test('bytes are read when the call is made: what becomes of them later changes nothing', async (t) => {
  const image = noise(64, 64)
  const bytes = await encodeImage(image, 'png')
  const own = new Uint8Array(bytes)
  const reading = readImage(own)
  own.fill(0)
  structuredClone(own, { transfer: [own.buffer] })
  t.same((await reading).data, image.data)
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
  for (const [extension, format] of Object.entries({
    jpg: 'jpeg',
    JPEG: 'jpeg',
    png: 'png',
    webp: 'webp',
    avif: 'heif',
    tif: 'tiff',
  })) {
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
  const [plainly, optimized, full] = [
    await encodeImage(noise(99, 99), 'jpeg'),
    await encodeImage(noise(99, 99), 'jpeg', { optimize: true }),
    await encodeImage(noise(99, 99), 'jpeg', { chromaSubsampling: '4:4:4' }),
  ]
  t.ok(optimized.length < plainly.length, 'the same in less')
  t.same((await readImage(optimized)).data, (await readImage(plainly)).data)
  t.equal((await sharp(plainly).metadata()).chromaSubsampling, '4:2:0')
  t.equal((await sharp(full).metadata()).chromaSubsampling, '4:4:4')
  t.same(
    (await readImage(await encodeImage(noise(9, 9), 'png', { quality: 5 }))).data,
    noise(9, 9).data,
    'PNG has no quality',
  )
  const reason = new Error('enough')
  const controller = new AbortController()
  const encoding = encodeImage(noise(99, 99), 'avif', { signal: controller.signal })
  controller.abort(reason)
  await t.rejects(encoding, reason)
  await t.rejects(writeImage(image, join(folder, 'never.png'), { signal: controller.signal }), reason)
  await t.rejects(readFile(join(folder, 'never.png')), { code: 'ENOENT' })
  await t.rejects(
    writeImage(image, join(folder, 'missing/a.png')),
    failure('ERR_TRT_FILE', /Cannot write .*missing.a\.png: there is no folder .*missing$/),
  )
  const tooWide = { ...image, width: 70000, height: 1, data: new Uint8Array(210000) }
  await t.rejects(encodeImage(tooWide, 'jpeg'), unreadable(/^Cannot encode a jpeg of 70000 x 1: /))
})

t.test('misuse', async (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const image = plain(2, 2, [1, 2, 3])
  await t.rejects(readImage(3 as never), invalid(/a path, a file: URL, bytes .* for source but received number 3/))
  await t.rejects(readImage(photograph, null as never), invalid(/an object for the options of /))
  await t.rejects(readImage(photograph, { signal: 'now' as never }), invalid(/an AbortSignal for signal/))
  for (const [options, message] of [
    [{ icc: 'keep' }, /'convert' or 'ignore' for icc/],
    [{ limitPixels: 0 }, /an integer from 1 for limitPixels/],
    [{ background: [1, 2] }, /for background/],
    [{ background: 256 }, /from 0 to 255 for background/],
    [{ page: -1 }, /for page/],
    [{ orient: 1 }, /true or false for orient/],
    [{ shrink: 0.5 }, /for shrink/],
    [{ shrink: { width: 5 } }, /for shrink\.height/],
    [{ shrink: null }, /a number of pixels or \{ width, height \} for shrink/],
  ] as const)
    await t.rejects(readImage(photograph, options as never), invalid(message))
  await t.rejects(
    encodeImage(image, 'jpeg', { chromaSubsampling: '4:1:1' as never }),
    invalid(/'4:4:4' or '4:2:0' for chromaSubsampling/),
  )
  await t.rejects(encodeImage(image, 'jpeg', { optimize: 1 as never }), invalid(/true or false for optimize/))
  await t.rejects(
    writeImage(image, 'a.bmp'),
    invalid(/a path that ends in \.jpg, .* for path but received string "a\.bmp"/),
  )
  await t.rejects(writeImage(image, 1 as never), invalid(/a path or a file: URL for path/))
  await t.rejects(encodeImage(image, 'bmp' as never), invalid(/one of 'jpeg', 'png'/))
  await t.rejects(encodeImage(image, 'jpeg', { quality: 0 }), invalid(/ for quality /))
  await t.rejects(encodeImage({ ...image, height: 3 }, 'jpeg'), invalid(/18 bytes/))
})

t.test(
  'sharp: where there is none the error says what to do, and a linked package finds it from where the program runs',
  async (t) => {
    // Outside the project's folder, so that its node_modules are not found.
    const folder = temporaryFolder(t)
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await cp(new URL('../../lib', import.meta.url), folder, { recursive: true })
    // a program of a project that has sharp, and links to a package that has not
    const linking = join(t.testdir({}), 'main.mjs')
    const program = `import { readImage } from ${JSON.stringify(pathToFileURL(join(folder, 'vision/index.js')).href)}
     await readImage(${JSON.stringify(photograph)}).then(({ width }) => console.log(width), ({ code, message }) => console.log(code, message))`
    for (const path of [join(folder, 'main.mjs'), linking]) await writeFile(path, program)
    const project = fileURLToPath(new URL('../../..', import.meta.url))
    const printed = async (main: string, cwd: string): Promise<string> =>
      (await promisify(execFile)(process.execPath, [main], { cwd })).stdout
    const without = `ERR_TRT_IMAGE Cannot read ${photograph}: pictures need sharp. To install it: npm install sharp\n`
    t.equal(await printed(join(folder, 'main.mjs'), folder), without)
    t.equal(
      await printed(join(folder, 'main.mjs'), project),
      without,
      'the folder that it is called in may be of anybody',
    )
    t.equal(await printed(linking, folder), `${(await sharp(photograph).metadata()).width}\n`)
  },
)
