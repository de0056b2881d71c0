// Damaged pictures: what comes out is a picture whose size and data agree, or a typed error. TRT_FUZZ_SEED=n begins
// elsewhere.
import t from 'tap'
import { type ReadImage, readImage, readImageInfo, type ReadImageOptions } from '../../lib/vision/index.js'
import { TensorRTError } from '../../lib/errors.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { type Mutant, mutant, seeds } from './hostile-pictures.js'
import { size } from '../support/tiers.js'

const count = size(1000, 10_000)
const firstSeed = Number(process.env['TRT_FUZZ_SEED'] ?? 20_261_122)
const limitPixels = 100_000
/** Of the whole process: sharp and its threads take most of it, pictures next to nothing. */
const mostMemory = 2 ** 30
/** As sharp has threads. */
const atOnce = 4

const outcomes: Record<string, number> = {}

/** What came of it that should not, if anything. */
async function problemOf(body: () => Promise<ReadImage | undefined>): Promise<string | undefined> {
  try {
    const image = await body()
    if (image === undefined) return undefined
    outcomes['read'] = (outcomes['read'] ?? 0) + 1
    const { width, height, data, original } = image
    const isWhole =
      width >= 1 &&
      height >= 1 &&
      data.length === width * height * 3 &&
      width <= original.width &&
      height <= original.height
    return isWhole && original.width * original.height <= limitPixels
      ? undefined
      : `a picture of ${width} x ${height}, ${data.length} bytes`
  } catch (error) {
    if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_IMAGE')
      return String(error instanceof Error ? error.stack : error)
    outcomes['refused'] = (outcomes['refused'] ?? 0) + 1
    if (error.message.includes('limitPixels')) outcomes['too large'] = (outcomes['too large'] ?? 0) + 1
    return undefined
  }
}

function optionsOf(random: Random): ReadImageOptions {
  return {
    limitPixels,
    icc: random.pick(['convert', 'ignore']),
    orient: random.chance(0.8),
    ...(random.chance(0.2) && { shrink: 1 + random.below(12) }),
    ...(random.chance(0.2) && { background: 255 }),
    ...(random.chance(0.1) && { page: random.below(4) }),
  }
}

async function problemsOf({ name, bytes }: Mutant, random: Random): Promise<string[]> {
  const options = optionsOf(random)
  const found = [
    await problemOf(() => readImage(bytes, options)),
    await problemOf(() => readImageInfo(bytes).then(() => undefined)),
  ]
  return found
    .filter((problem) => problem !== undefined)
    .map((problem) => `${name}: ${JSON.stringify(options)}: ${problem}`)
}

t.test(`${count} mutated pictures`, { timeout: 0 }, async (t) => {
  const all = await seeds()
  for (const { name, bytes } of all) t.match(await readImage(bytes, { limitPixels }), { channels: 3 }, name)
  const found: string[] = []
  let next = 0
  let peak = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const random = new Random(firstSeed + next++ * 7919)
      const number = next
      found.push(...(await problemsOf(mutant(all, random), random)).map((problem) => `#${number} ${problem}`))
      peak = Math.max(peak, process.memoryUsage.rss())
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  t.comment(JSON.stringify(outcomes), `${Math.round(peak / 2 ** 20)} MiB at most`)
  t.same(found, [])
  t.ok(peak < mostMemory, `${peak} bytes`)
  t.ok((outcomes['read'] ?? 0) > count / 10, 'many can be read')
  t.ok((outcomes['refused'] ?? 0) > count / 4, 'and many cannot')
  t.ok((outcomes['too large'] ?? 0) > count / 100, 'some for the size that they claim')
})

t.test('text that is a picture', async (t) => {
  const svg = (attributes: string, body = ''): Buffer =>
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ${attributes}>${body}</svg>`,
    )
  const size = 'width="30" height="20"'
  t.match(await readImage(svg(size, '<rect width="9" height="9"/>')), { width: 30, height: 20 })
  const unreadable = (message: RegExp) => failure('ERR_TRT_IMAGE', message)
  await t.rejects(readImage(svg('width="30000" height="30000"')), unreadable(/900000000 pixels/))
  await t.rejects(readImage(svg('width="0" height="0"')), unreadable(/^Cannot read picture of \d+ bytes: /))
  const bomb = `<!DOCTYPE svg [<!ENTITY a "${'a'.repeat(1000)}">${Array.from({ length: 8 }, (_, i) => `<!ENTITY a${i} "${`&a${i === 0 ? '' : i - 1};`.repeat(20)}">`).join('')}]>`
  await t.rejects(
    readImage(Buffer.concat([Buffer.from(bomb), svg(size, '<text>&a7;</text>')])),
    unreadable(/^Cannot read picture of \d+ bytes: /),
  )
})
