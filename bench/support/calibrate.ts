/**
 * A program of bench quantize: calibrates a model, and prints a line of JSON as calibrate.py does. Its arguments: the
 * model, and a folder of files `*.f32` of [1, 3, 320, 320], or the number of pictures that are made as they are needed.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Tensor } from '../../lib/index.js'
import { Calibrator } from '../../lib/quantization/index.js'
import { pictures } from './pictures.js'

export interface Calibrated {
  /** Without the start of the process. */
  readonly ms: number
  /** The most memory that it ever had. */
  readonly peakKiB: number
  readonly ranges: number
}

function* files(folder: string): Generator<Tensor> {
  for (const file of readdirSync(folder).sort()) {
    const bytes = readFileSync(join(folder, file))
    yield new Tensor(
      'float32',
      new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4),
      [1, 3, 320, 320],
    )
  }
}

const [model = '', inputs = ''] = process.argv.slice(2)
const begun = performance.now()
const data = /^\d+$/.test(inputs) ? pictures(Number(inputs)) : files(inputs)
const calibration = await new Calibrator(data, { algorithm: 'entropy' }).calibrate(model)
const ms = performance.now() - begun
const [, peak] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
const calibrated: Calibrated = { ms, peakKiB: Number(peak), ranges: calibration.ranges.size }
process.stdout.write(`${JSON.stringify(calibrated)}\n`)
