/**
 * Pictures in, answers out, beside OpenCV, PIL, torchvision and sharp. Parts: tensor, answers, strokes. Needs Python 3
 * with pip; fetches the rest once, 5 GB. Linux only.
 */
import { parseArgs } from 'node:util'
import { answersRows } from './support/vision-answers.js'
import { strokesRows } from './support/vision-strokes.js'
import { tensorRows } from './support/vision-tensor.js'
import { machine, note, print, type Row } from './support/report.js'

const parts: Readonly<Record<string, () => Promise<Row[]>>> = {
  tensor: tensorRows,
  answers: answersRows,
  strokes: strokesRows,
}

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const wanted = positionals.length > 0 ? positionals : Object.keys(parts)
const unknown = wanted.find((name) => parts[name] === undefined)
if (unknown !== undefined) {
  note(`There is no part ${unknown} of this bench: ${Object.keys(parts).join(', ')}`)
  process.exitCode = 1
} else {
  const on = machine({})
  const rows: Row[] = []
  for (const name of wanted) {
    note(`${name} …`)
    rows.push(...((await parts[name]?.()) ?? []))
  }
  print({ bench: 'vision', date: new Date().toISOString(), machine: on, rows }, values.json)
}
