// Real models on drawn text: PP-OCRv4's detector and reader, as rapidocr has their answers (oracles/ocr.py).
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { Engine } from '../../lib/index.js'
import { decodeCtc, decodeDbNet, readImage, stretch, toTensor } from '../../lib/vision/index.js'
import { readerCharacters, realModels } from '../support/real-models.js'
import { type Corner, overlapOf, rowsOf } from './decoders-helpers.js'
import { answersOf } from './oracles/answers.js'

interface Answers {
  page: { png: string; boxes: number[]; scores: number[] }
  lines: { png: string; text: string; score: number }[]
}

const { page, lines } = answersOf<Answers>('ocr')

/** What a model gives of a picture that has the right size already. */
async function answerOf(model: string, png: string) {
  const picture = await readImage(Buffer.from(png, 'base64'))
  const input = await toTensor(picture, stretch(picture, picture), { range: '0-1', mean: 0.5, std: 0.5, order: 'BGR' })
  await using engine = await Engine.load(model, { backend: 'cpu' })
  return await engine.infer({ x: input })
}

t.test('The detector finds the lines, a turned one among them', async (t) => {
  const [found] = decodeDbNet(await answerOf(realModels.detector, page.png), { dilate: true })
  const wanted = rowsOf(page.boxes, 8).map((box) => rowsOf(box, 2) as unknown as Corner[])
  t.equal(found!.length, wanted.length)
  for (const [i, box] of wanted.entries()) {
    const overlaps = found!.map(({ corners }) => overlapOf(box, corners))
    const best = overlaps.indexOf(Math.max(...overlaps))
    t.ok(overlaps[best]! >= 0.95, `IoU ${overlaps[best]!.toFixed(4)}`)
    t.ok(Math.abs(found![best]!.score - page.scores[i]!) < 0.01)
  }
})

t.test('The reader reads', async (t) => {
  const characters = [...(await readFile(readerCharacters, 'utf8')).trimEnd().split('\n'), ' ']
  for (const { png, text, score } of lines) {
    const [found] = decodeCtc(await answerOf(realModels.reader, png), { characters })
    t.equal(found!.text, text)
    t.ok(Math.abs(found!.score - score) < 1e-3, { found: found!.score, wanted: score })
  }
})
