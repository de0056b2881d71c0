import { type Dim, type ElementType, GraphBuilder, type ModelProto, type PreprocessingSteps } from '../../../lib/onnx/index.js'
import { centerCrop, type Frame, letterbox, padToSquare, type Size, stretch } from '../../../lib/vision/index.js'

/** y = x. */
export function identityModel(shape: readonly Dim[], dtype: ElementType = 'float32', opset = 17): ModelProto {
  const g = new GraphBuilder({ name: 'identity', opset })
  g.output(g.node('Identity', [g.input('x', dtype, shape)], {}, { output: 'y' }), dtype, shape)
  return g.toModel()
}

/** The host's frame of the same words. */
export function frameOf(steps: PreprocessingSteps, picture: Size, input: Size): Frame {
  const { resize = 'stretch', fill: color, fillAfter, mean, range, position, rounding, multipleOf, shortSide } = steps
  const unit = range === '0-1' ? 255 : 1
  const zero = Array.isArray(mean) ? (mean as number[]).map((each) => each * unit) : Number(mean ?? 0) * unit
  const fill = fillAfter === true ? (zero as number | [number, number, number]) : color
  switch (resize) {
    case 'stretch':
      return stretch(picture, input)
    case 'letterbox':
      return letterbox(picture, input, { fill, position, rounding, multipleOf })
    case 'padToSquare':
      return padToSquare(picture, input.width, { fill, position })
    case 'centerCrop':
      return centerCrop(picture, input, { fill, resize: shortSide })
  }
}
