// FP16 and BF16 of real models on real photographs: what is lost against float32 where each float16 value is rounded,
// how much is halved, and that TensorRT-RTX builds it.
import { join } from 'node:path'
import t from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { Builder, type Shapes, type Tensor } from '../../lib/index.js'
import { convertPrecision, type HalfPrecision, inspectModel, readModel, writeModel } from '../../lib/onnx/index.js'
import { withOpset } from '../../lib/onnx/opset.js'
import { compare } from '../../lib/quantization/index.js'
import { type Frame, type Image, letterbox, readImage, stretch, toTensorSync } from '../../lib/vision/index.js'
import { packageDir } from '../demo/reference.js'
import { realModels } from '../support/real-models.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { relativeDifference } from '../support/values.js'
import { runEach } from './helpers.js'

const pictures: Image[] = []
for (let i = 1; i <= 6; i++) pictures.push(await readImage(join(packageDir, 'demo', `sample${i}.jpg`)))

interface Model {
  readonly name: string
  readonly source: string | Uint8Array
  readonly size: { readonly width: number; readonly height: number }
  readonly frame: (image: Image, size: { width: number; height: number }) => Frame
}

const models: readonly Model[] = [
  { name: 'face detector', source: writeModel(await readModel(await faceDetectorModel())), size: { width: 416, height: 416 }, frame: letterbox },
  { name: 'PP-OCR detection', source: realModels.detector, size: { width: 320, height: 320 }, frame: letterbox },
  { name: 'PP-OCR recognition', source: realModels.reader, size: { width: 320, height: 48 }, frame: stretch },
  { name: 'PP-OCR orientation', source: realModels.classifier, size: { width: 192, height: 48 }, frame: stretch },
] // prettier-ignore

async function outputsOf(model: Uint8Array, inputs: readonly Tensor<'float32'>[]): Promise<Float32Array[]> {
  const [input] = inspectModel(await readModel(model)).inputs
  const feeds = inputs.map(({ data, shape }) => ({ [input?.name ?? '']: { data, shape } }))
  return (await runEach(model, feeds)).map((results) => Object.values(results)[0]?.data as Float32Array)
}

for (const { name, source, size, frame } of models) {
  await t.test(name, async (t) => {
    const original = writeModel(await readModel(source))
    const inputs = pictures.map((image) => toTensorSync([image], [frame(image, size)], { mean: 127.5, std: 127.5 }))
    const shape = inputs[0]?.shape ?? []
    const [input] = inspectModel(await readModel(original)).inputs
    const isDynamic = input?.shape?.some((dim) => typeof dim === 'string' || dim < 0) ?? true
    const shapes: Shapes = isDynamic ? { [input?.name ?? '']: shape } : {}
    const wanted = await outputsOf(original, inputs)

    for (const [precision, type] of [
      ['fp16', 'float16'],
      ['bf16', 'bfloat16'],
    ] as [HalfPrecision, 'float16' | 'bfloat16'][]) {
      // prettier-ignore
      const { model, report } = convertPrecision(await readModel(original), precision)
      const bytes = writeModel(model)
      const { bytesBefore, bytesConverted, bytesAfter } = report.weights
      const share = bytesConverted / bytesBefore
      t.comment(
        `${precision}: ${(100 * share).toFixed(2)} % of ${bytesBefore} bytes of weights halved, ${report.casts} casts, ${report.kept.length} nodes stay`,
      )
      t.ok(share >= 0.9 && bytesAfter <= 0.55 * bytesBefore, `${precision}: ${share} of the weights' bytes are halved`)
      // onnxruntime's CPU has no Conv of bfloat16
      if (precision === 'fp16') {
        const { outputs } = await compare(original, bytes, inputs)
        for (const [output, { cosine, maxAbsolute }] of Object.entries(outputs)) {
          t.comment(`${precision}: ${output}: cosine ${cosine}, largest difference ${maxAbsolute}`)
          t.ok(cosine >= 0.999, `${precision}: cosine of ${output} ${cosine}`)
        }
      }
      if (skipWithoutRtx !== false) continue
      const { info } = await new Builder().build(bytes, { shapes })
      const { float32 = 0, [type]: half = 0 } = info.network.outputTypes
      t.ok(half > 10 * float32, `${precision}: ${half} layers of ${type}, ${float32} of float32`)
      t.match(info.settings, { precision: [precision] })
    }

    // some kernels of newer opsets add up in another order
    const raised = await outputsOf(writeModel(withOpset(await readModel(original), 22)), inputs.slice(0, 2))
    for (const [i, output] of raised.entries()) {
      const apart = relativeDifference(output, wanted[i] as Float32Array)
      t.ok(apart <= 1e-5, `a raised opset computes the same: ${apart} apart`)
    }
  })
}
