// Profiles that say sRGB are not worked through: which these are, and that libvips would have changed nothing.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { isSrgb } from '../../lib/vision/icc.js'
import { readImage } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'

const folder = join(dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json')), 'demo')
const photograph = join(folder, 'sample1.jpg')
const of = async (picture: string | Uint8Array): Promise<Buffer> => (await sharp(picture).metadata()).icc as Buffer
const made = (profile: string): Promise<Buffer> =>
  sharp({ create: { width: 2, height: 2, channels: 3, background: 'red' } })
    .withIccProfile(profile)
    .png()
    .toBuffer()

t.test('sRGB as a telephone and as sharp write it; Display P3 is another', async (t) => {
  const profile = await of(photograph)
  t.equal(profile.length, 3144, "that of most cameras, with curves of 1024 values: HP's")
  t.equal(isSrgb(profile), true)
  t.equal(isSrgb(await of(await made('srgb'))), true)
  t.equal(isSrgb(await of(await made('p3'))), false)
})

t.test('what libvips makes of such a profile is the same to one of 255', async (t) => {
  const here = await readImage(photograph)
  const converted = await sharp(photograph).toColourspace('srgb').raw().toBuffer()
  t.equal(here.data.length, converted.length)
  const most = here.data.reduce((most, value, i) => Math.max(most, Math.abs(value - converted[i]!)), 0)
  t.ok(most <= 1, `${most}`)
  const ignored = await readImage(photograph, { icc: 'ignore' })
  t.ok(Buffer.compare(here.data, ignored.data) === 0)
})

const header = (tags: readonly (readonly [string, Buffer])[]): Buffer => {
  const data = Buffer.alloc(132 + tags.length * 12)
  data.write('RGB XYZ ', 16, 'latin1')
  data.writeUInt32BE(tags.length, 128)
  let at = data.length
  for (const [i, [name, body]] of tags.entries()) {
    data.write(name, 132 + i * 12, 'latin1')
    data.writeUInt32BE(at, 136 + i * 12)
    data.writeUInt32BE(body.length, 140 + i * 12)
    at += body.length
  }
  return Buffer.concat([data, ...tags.map(([, body]) => body)])
}
const numbers = (kind: string, head: readonly number[], values: readonly number[]): Buffer => {
  const data = Buffer.alloc(8 + head.length * 2 + values.length * 4)
  data.write(kind, 0, 'latin1')
  head.forEach((value, i) => data.writeUInt16BE(value, 8 + i * 2))
  values.forEach((value, i) => data.writeInt32BE(Math.round(value * 65536), 8 + head.length * 2 + i * 4))
  return data
}
const xyz = (...values: number[]): Buffer => numbers('XYZ ', [], values)
const table = (...values: number[]): Buffer => {
  const data = Buffer.alloc(12 + values.length * 2)
  data.write('curv', 0, 'latin1')
  data.writeUInt32BE(values.length, 8)
  values.forEach((value, i) => data.writeUInt16BE(value, 12 + i * 2))
  return data
}
const red = ['rXYZ', xyz(0.4361, 0.2225, 0.0139)] as const
const green = ['gXYZ', xyz(0.3851, 0.7169, 0.0971)] as const
const blue = ['bXYZ', xyz(0.1431, 0.0606, 0.7141)] as const
const curve = numbers('para', [3, 0], [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])
const curves = (body: Buffer) => ['rTRC', 'gTRC', 'bTRC'].map((name) => [name, body] as const)

t.test('by hand', (t) => {
  t.equal(isSrgb(header([red, green, blue, ...curves(curve)])), true, 'a formula')
  const fifth = numbers('para', [4, 0], [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045, 0, 0])
  t.equal(isSrgb(header([red, green, blue, ...curves(fifth)])), true)
  t.equal(isSrgb(header([red, green, blue, ...curves(numbers('para', [0, 0], [2.2]))])), false, 'a gamma of 2.2 only')
  t.equal(isSrgb(header([red, green, blue, ...curves(table(563))])), false, 'the same as a table')
  t.equal(isSrgb(header([red, green, blue, ...curves(table())])), false, 'a straight line')
  t.equal(isSrgb(header([red, green, blue, ...curves(table(0, 65535))])), false)
  t.equal(isSrgb(header([red, green, blue, ...curves(curve).slice(0, 2)])), false, 'a curve that is missing')
  t.equal(
    isSrgb(header([red, blue, ['gXYZ', xyz(0.292, 0.6922, 0.0419)], ...curves(curve)])),
    false,
    "Display P3's green",
  )
  t.equal(isSrgb(header([red, green, blue, ['A2B0', Buffer.alloc(8)], ...curves(curve)])), false, 'a table besides')
  t.equal(isSrgb(header([green, red, ...curves(curve)])), false)
  t.end()
})

t.test('what is cut short, or damaged, is none, or is one, and ends', async (t) => {
  const whole = header([red, green, blue, ...curves(curve)])
  for (let length = 0; length < whole.length; length++)
    t.equal(isSrgb(whole.subarray(0, length)), false, `${length} bytes`)
  const random = new Random(5)
  const profile = await of(photograph)
  for (let round = 0; round < 500; round++) {
    const spoilt = Uint8Array.from(profile)
    for (let i = 0; i < 8; i++) spoilt[128 + random.below(300)] = random.below(256)
    t.type(isSrgb(spoilt), 'boolean')
  }
})
