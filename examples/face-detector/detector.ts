import { TensorRTError } from 'node-tensorrt'
import type { Tensor } from 'node-tensorrt'
import {
  decodeGrid,
  nonMaxSuppression,
  padToSquare,
  toTensor,
  type Box,
  type Image,
  type Size,
} from 'node-tensorrt/vision'
import {
  anchors,
  gridSize,
  inputName,
  inputSize,
  iouThreshold,
  meanRgb,
  outputName,
  pixelScale,
  scoreThreshold,
} from './model.js'

/** As much of an engine as the detector needs. */
export interface FaceEngine {
  infer(inputs: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>
}

export interface Face {
  /** 0 to 1. */
  readonly score: number
  /** In pixels of the upright photograph; may reach outside it. */
  readonly box: Box
}

/** Pixels of the model's input for each cell of its output. */
const stride = inputSize / gridSize

/** Finds faces by the tiny face detector of `@vladmandic/face-api`, with the answers of that package. */
export class FaceDetector<E extends FaceEngine = FaceEngine> {
  readonly engine: E

  constructor(engine: E) {
    this.engine = engine
  }

  /** The faces in a picture, the best first. */
  async detect(image: Image): Promise<Face[]> {
    return this.decode(await this.infer(await this.prepare(image)), image)
  }

  /** The picture as the model wants it: [1, 3, 416, 416]. */
  async prepare(image: Image): Promise<Tensor<'float32'>> {
    return toTensor(image, padToSquare(image, inputSize), { coordinates: 'asymmetric', mean: meanRgb, std: pixelScale })
  }

  /** The model's answer for a prepared picture: [1, 25, 13, 13]. */
  async infer(input: Tensor<'float32'>): Promise<Tensor> {
    const outputs = await this.engine.infer({ [inputName]: input })
    const output = outputs[outputName]
    if (output === undefined) {
      throw new TensorRTError(
        'ERR_TRT_SHAPE',
        `Expected an output ${outputName} of the face detector but received ${Object.keys(outputs).join(', ')}`,
      )
    }
    return output
  }

  /** The faces in the model's answer for `size`, the size of the picture. */
  decode(output: Tensor, size: Size): Face[] {
    // Of equal scores the package takes the last, nonMaxSuppression the first.
    const candidates = decodeGrid(output, { anchors, stride, scoreThreshold }).flat().reverse()
    return nonMaxSuppression(candidates, { iouThreshold }).map(({ score, box }) => ({
      score,
      box: toPhotograph(box, size),
    }))
  }
}

/**
 * The package rounds the size that the photograph has within the model's input to whole pixels before it maps boxes
 * back, and so do we: for long, narrow photographs that moves them by several percent.
 */
function toPhotograph([x, y, width, height]: Box, size: Size): Box {
  const toInput = inputSize / Math.max(size.width, size.height)
  const scaleX = size.width / Math.max(1, Math.round(size.width * toInput))
  const scaleY = size.height / Math.max(1, Math.round(size.height * toInput))
  return [x * scaleX, y * scaleY, width * scaleX, height * scaleY]
}
