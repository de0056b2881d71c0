/**
 * Two networks with seeded weights as a repository: for each the picture's bytes, or the float32 that the network
 * computes with, as its input.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ModelProto, withPostprocessing, withPreprocessing, writeModel } from 'node-tensorrt/onnx'
import type { Tensor } from 'node-tensorrt'
import { readImage, stretch, toTensor } from 'node-tensorrt/vision'
import { efficientDet, mobileNetV2 } from '../../test/support/networks/index.js'

export type Form = 'bytes' | 'float32'

/** One model, with what it is asked. */
export interface Case {
  /** Its name in the repository. */
  readonly name: string
  readonly what: string
  readonly form: Form
  readonly input: Tensor
}

export interface CaseOptions {
  readonly classifierSize: number
  readonly detectorSize: number
  readonly forms: readonly Form[]
}

/** What the networks were trained with. */
const normalization = { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const

/**
 * Puts the models into a folder, in place of what was there. Configurations are not needed: the server takes them from
 * the models.
 */
export async function putModels(
  folder: string,
  photo: string,
  { classifierSize, detectorSize, forms }: CaseOptions,
): Promise<readonly Case[]> {
  await rm(folder, { recursive: true, force: true })
  const networks = [
    { name: 'mobilenet_v2', what: 'MobileNetV2', size: classifierSize, model: classifier(classifierSize) },
    { name: 'efficientdet_d1', what: 'EfficientDet-D1', size: detectorSize, model: detector(detectorSize) },
  ]
  const cases: Case[] = []
  for (const { name: base, what, size, model } of networks)
    for (const form of forms) {
      const name = `${base}_${form}`
      await mkdir(join(folder, name, '1'), { recursive: true })
      await writeFile(
        join(folder, name, '1', 'model.onnx'),
        writeModel(form === 'bytes' ? takingBytes(model, size) : model),
      )
      cases.push({ name, what, form, input: await inputOf(photo, size, form) })
    }
  return cases
}

/** Probabilities of a thousand classes. */
const classifier = (size: number): ModelProto => withPostprocessing(mobileNetV2.modelOf({ size }), { kind: 'softmax' })

/** Boxes, classes and scores of the best hundred. */
const detector = (size: number): ModelProto =>
  withPostprocessing(efficientDet.modelOf({ size }), {
    kind: 'detections',
    decoder: 'efficientdet',
    size,
    maxDetections: 100,
  })

const takingBytes = (model: ModelProto, size: number): ModelProto =>
  withPreprocessing(model, { picture: { width: size, height: size }, steps: normalization })

/** The photograph at the network's size: [1, size, size, 3] of bytes, or [1, 3, size, size] of float32, normalized. */
async function inputOf(photo: string, size: number, form: Form): Promise<Tensor> {
  const image = await readImage(photo)
  const frame = stretch(image, size)
  return form === 'bytes'
    ? await toTensor(image, frame, { layout: 'NHWC', dtype: 'uint8' })
    : await toTensor(image, frame, normalization)
}
