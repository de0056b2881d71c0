// The values of EfficientNMS_TRT, compared with the boxes that onnxruntime's NonMaxSuppression keeps.
import { Builder, Engine } from '../../lib/index.js'
import { caseOf, readReference } from './cases.js'
import { runProgram } from './check.js'

const rowsOf = (values: ArrayLike<number>, columns: number): number[][] =>
  Array.from({ length: values.length / columns }, (_, i) =>
    Array.from({ length: columns }, (_, k) => values[i * columns + k] ?? NaN),
  )

await runProgram('efficient-nms', async ({ check, references }) => {
  const reference = readReference(references, 'efficient-nms')
  const { inputs, outputs } = caseOf(reference, '32 boxes')
  const expected = rowsOf(outputs['rows']?.data as Float32Array, 6)
  await check('keeps the boxes that onnxruntime keeps', expected, async () => {
    await using builder = new Builder()
    const { bytes } = await builder.build(reference.model, { shapes: reference.shapes })
    await using engine = await Engine.load(bytes)
    const { count, kept, confidence, classes } = await engine.infer(inputs)
    const boxes = rowsOf(kept?.data as Float32Array, 4)
    return boxes
      .slice(0, Number(count?.data[0]))
      .map((box, i) => [Number(confidence?.data[i]), Number(classes?.data[i]), ...box])
      .sort(([a = 0], [b = 0]) => b - a)
  })
})
