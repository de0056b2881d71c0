// The real TensorRT-RTX, which has no flags for precisions: new Builder({ precision: 'fp16' }) builds a float32 model all the same.
import t from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { Builder } from '../../lib/index.js'
import { skipWithoutRtx } from '../support/tensorrt.js'

for (const [precision, type] of [
  ['fp16', 'float16'],
  ['bf16', 'bfloat16'],
] as const) {
  // prettier-ignore
  t.test(`the face detector in ${precision}`, { skip: skipWithoutRtx }, async (t) => {
    const model = await faceDetectorModel()
    const whole = await new Builder().audit(model)
    const { info } = await new Builder({ precision }).build(model)
    const { float32 = 0, [type]: half = 0 } = info.audit.outputTypes
    t.ok(half > 10 * float32, `${half} layers of ${type}, ${float32} of float32`)
    t.equal(info.audit.weightBytes, whole.weightBytes / 2)
    t.match(info.conversion, { precision, kept: [] })
    t.match(info.settings, { precision: [precision] })
  })
}
