/**
 * `node dist/bench/support/gpu-ranges.js FOLDER` writes the INT8 ranges of bench gpu: onnxruntime measures them on an
 * ordinary machine, as it is not part of the kit. The model for images of 128 x 128 has values of the same names.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Tensor } from '../../lib/index.js'
import { Calibrator } from '../../lib/quantization/index.js'
import { Random } from '../../test/support/random.js'
import { gpuRows } from './gpu-rows.js'

const size = 128
const count = 4

/** Waves of some directions and lengths. */
function* images(): Generator<Tensor> {
  const random = new Random(11)
  for (let image = 0; image < count; image++) {
    const tensor = Tensor.zeros('float32', [1, 3, size, size])
    const [down, across] = [random.around() * 40, random.around() * 40]
    for (let i = 0; i < tensor.data.length; i++)
      tensor.data[i] = Math.sin((down * Math.floor(i / size) + across * (i % size)) / size)
    yield tensor
  }
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Expected a folder for the ranges.')
for (const { model, write } of gpuRows.filter(({ precision }) => precision === 'int8')) {
  const calibration = await new Calibrator(images(), { algorithm: 'minmax' }).calibrate(write(size))
  // without the hash of the smaller model
  writeFileSync(join(folder, `${model}.ranges`), calibration.toTensorRT({ version: '10.6.0' }))
}
