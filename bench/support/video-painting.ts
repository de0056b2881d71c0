/** Painting a frame where it lies, beside the way over RGB: rows of the bench video. */
import { blurRegions, type Box, drawBoxes, type RawImage } from '../../lib/vision/index.js'
import { interleaved } from './measure.js'
import { roundsOf } from './quick.js'
import { note, row, type Row } from './report.js'

const [width, height] = [1920, 1080]
const rounds = roundsOf(25)

const faces: readonly Box[] = [
  [300, 200, 180, 220],
  [901, 401, 181, 221],
  [1500, 700, 160, 200],
]
const drawn = faces.map((box, i) => ({ box, label: `face ${i}` }))

function frame(format: 'i420' | 'nv12'): RawImage {
  const data = Uint8Array.from({ length: (width * height * 3) / 2 }, (_, i) => Math.imul(i, 2654435761) >>> 24)
  return { width, height, format, data, matrix: 'bt709' }
}

/** Of all threads of the process. */
async function processorMilliseconds(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/**
 * Three faces hidden and boxes with labels around them. The peer stops at RGB: the way back to Y, U and V would be
 * added to it.
 */
export async function* paintingRows(): AsyncGenerator<Row, void> {
  for (const format of ['i420', 'nv12'] as const) {
    note(`painting ${format} …`)
    const picture = frame(format)
    const time = await interleaved(rounds, {
      inPlace: () =>
        processorMilliseconds(async () => {
          await blurRegions(picture, faces, { inPlace: true })
          await drawBoxes(picture, drawn, { inPlace: true })
        }),
      overRgb: () => processorMilliseconds(async () => drawBoxes(await blurRegions(picture, faces), drawn)),
    })
    const about = `peer: the same functions on a copy as RGB, without the way back; processor time, median of ${rounds} rounds`
    const goal = { of: 'ratio', sign: '<=', value: 0.3 } as const
    yield row(`three faces hidden, boxes drawn, 1080p ${format}`, 'ms', time.inPlace, time.overRgb, goal, about)
  }
}
