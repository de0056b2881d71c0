// Real models in INT8, on real photographs and rendered text, judged by what they answer: on onnxruntime, with Q/DQ as
// it stands in the graph. The real builder of TensorRT-RTX takes them. The classifier stands for all where the sizes
// are not the large ones.
import t, { type Test } from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { FaceDetector } from '../../examples/face-detector/detector.js'
import { Builder, type Engine, type Shapes, type Tensor } from '../../lib/index.js'
import { inspectModel, writeModel } from '../../lib/onnx/index.js'
import { Calibrator, type QuantizedModel, quantize } from '../../lib/quantization/index.js'
import { realModels } from '../support/real-models.js'
import { beginnings, faceOverlaps, maskOverlap, open, photographs, readings, scenes, textLines } from './real.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { long } from '../support/tiers.js'

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

/** Says what was quantized, and has it built. */
async function built(t: Test, name: string, { model, report }: QuantizedModel, shapes: Shapes = {}): Promise<void> {
  t.comment(`${name}: ${percent(report.multiplyAdds.share)} of the multiply-adds, ${report.kept.length} layers kept`)
  await t.test('the real TensorRT-RTX builds it', { skip: skipWithoutRtx }, async (t) => {
    await using builder = new Builder({ precision: 'int8' })
    const { info } = await builder.build(writeModel(model), { shapes })
    const { QuantizeLinear = 0, DequantizeLinear = 0 } = inspectModel(model).operators
    t.same(
      [info.network.quantize.layers, info.network.dequantize.layers],
      [QuantizeLinear, DequantizeLinear],
      'TensorRT sees each of them',
    )
    t.same(Object.keys(info.network.quantize.types), ['int8'])
    t.ok(info.network.dequantize.layers > info.network.quantize.layers, 'weights are stored in INT8')
  })
}

t.test("PP-OCR's classifier of directions", async (t) => {
  const quantized = await quantize(realModels.classifier, new Calibrator(await beginnings(40, 7)))
  t.ok(quantized.report.multiplyAdds.share >= 0.8)
  await using a = await open(realModels.classifier)
  await using b = await open(quantized.toBytes())
  const others = await beginnings(100, 99)
  const isTurned = async (engine: Engine, x: Tensor<'float32'>): Promise<boolean> => {
    const [upright = 0, turned = 0] = (await engine.infer(x)).data as Float32Array
    return turned > upright
  }
  let [right, same] = [0, 0]
  for (const [i, x] of others.entries()) {
    const [before, after] = [await isTurned(a, x), await isTurned(b, x)]
    if (before === (i % 2 === 1)) right++
    if (before === after) same++
  }
  t.ok(right >= 95, `${right} of 100 are told right`)
  t.ok(same >= 95, `and ${same} as before`)
  const shape = [1, 3, 48, 192]
  await built(t, "PP-OCR's classifier", quantized, { x: { min: shape, opt: shape, max: shape } })
})

if (long) {
  t.test('the face detector', async (t) => {
    const images = await photographs()
    const source = await faceDetectorModel()
    const prepare = new FaceDetector({ infer: async () => ({}) })
    const calibrator = new Calibrator(await Promise.all(images.map((image) => prepare.prepare(image))), {
      algorithm: 'percentile',
    })
    const quantized = await quantize(source, calibrator)
    t.ok(quantized.report.multiplyAdds.share >= 0.8)
    await using a = await open(source)
    await using b = await open(quantized.toBytes())
    const overlaps = await faceOverlaps(a, b, images)
    const mean = overlaps.reduce((sum, each) => sum + each, 0) / overlaps.length
    t.ok(
      overlaps.length >= 21 && Math.min(...overlaps) >= 0.8 && mean >= 0.9,
      `worst ${Math.min(...overlaps).toFixed(3)}, mean ${mean.toFixed(3)}`,
    )
    await built(t, 'face detector', quantized)
  })
  t.test("PP-OCR's detector", async (t) => {
    const calibrator = new Calibrator(await scenes(20, 7))
    const quantized = await quantize(realModels.detector, calibrator, { keep: { cosine: 0.985 } })
    t.ok(quantized.report.multiplyAdds.share >= 0.8)
    await using a = await open(realModels.detector)
    await using b = await open(quantized.toBytes())
    const overlap = await maskOverlap(a, b, await scenes(30, 99))
    t.ok(overlap >= 0.95, `masks of other pictures overlap by ${overlap.toFixed(3)}`)
    const shape = [1, 3, 320, 320]
    await built(t, "PP-OCR's detector", quantized, { x: { min: shape, opt: shape, max: shape } })
  })
  t.test("PP-OCR's reader", async (t) => {
    // each layer is tried alone on each batch: all other work is little beside that
    const calibrator = new Calibrator((await textLines(40, 7)).map(({ tensor }) => tensor))
    const quantized = await quantize(realModels.reader, calibrator, { keep: { cosine: 0.985, maxBatches: 8 } })
    t.ok(quantized.report.multiplyAdds.share >= 0.6)
    await using a = await open(realModels.reader)
    await using b = await open(quantized.toBytes())
    const { same, right } = await readings(a, b, await textLines(200, 99))
    t.ok(right >= 0.95, `of other lines ${percent(right)} are read as they were written`)
    t.ok(same >= 0.95, `and ${percent(same)} as before`)
    const shape = [1, 3, 48, 320]
    await built(t, "PP-OCR's reader", quantized, { x: { min: shape, opt: shape, max: shape } })
  })
}
