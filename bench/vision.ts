/**
 * Pictures in, answers out, beside OpenCV, PIL, torchvision and sharp. Parts: tensor, answers, strokes. Needs Python 3
 * with pip; fetches the rest once, 5 GB. Linux only.
 */
import { parseArgs } from 'node:util'
import { answersRows } from './support/vision-answers.js'
import { strokesRows } from './support/vision-strokes.js'
import { tensorRows } from './support/vision-tensor.js'
import { type Parts, runParts } from './support/parts.js'
import { flags } from './support/quick.js'
import { machine } from './support/report.js'

const parts: Parts = {
  tensor: tensorRows,
  answers: answersRows,
  strokes: strokesRows,
}

const { values, positionals } = parseArgs({ options: flags, allowPositionals: true })
await runParts(parts, positionals, { bench: 'vision', machine: machine({}), json: values.json })
