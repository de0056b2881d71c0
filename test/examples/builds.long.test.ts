// The architectures of the examples and the real TensorRT-RTX: it takes all that they are made of.
import t from 'tap'
import {
  efficientDet,
  mobileNetV2,
  retinaFace,
  u2netp,
  unet,
  yoloV5,
  yoloV8Seg,
  yoloX,
} from '../support/networks/index.js'
import { Builder } from '../../lib/index.js'
import { writeModel } from '../../lib/onnx/index.js'
import { skipWithoutRtx } from '../support/tensorrt.js'

const architectures = { efficientDet, mobileNetV2, retinaFace, u2netp, unet, yoloV5, yoloV8Seg, yoloX }

for (const [name, { modelOf }] of Object.entries(architectures))
  t.test(name, { skip: skipWithoutRtx }, async (t) => {
    const model = modelOf({ size: 128 })
    const { info } = await new Builder().build(writeModel(model))
    const names = (values: readonly { readonly name: string }[] | undefined) => values?.map((value) => value.name)
    t.same(names(info.outputs), names(model.graph?.output), 'its outputs')
    t.same(names(info.inputs), names(model.graph?.input), 'its input')
  })
