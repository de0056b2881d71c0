// Half precision and INT8 against ONNX's checker and reference evaluator, and TensorRT-RTX's builder: each operator by
// itself, and four networks. All of them: all.long.test.ts.
import t from 'tap'
import { convertPrecision, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { TensorRTError } from '../../lib/index.js'
import { long } from '../support/tiers.js'
import { skipWithoutOnnx, skipWithoutRtx } from '../support/tensorrt.js'
import { askOnnx, checkCases } from './check.js'
import { networks } from './networks.js'
import { operatorModels } from './operators.js'

/** The newest opset that runtimes have released. */
const newest = 25

t.test(
  'each operator in each version: what is valid is valid in half precision',
  { skip: skipWithoutOnnx },
  async (t) => {
    const models = [...operatorModels(newest)].map(({ name, opset, what, model }) => ({
      name,
      opset,
      what,
      model: writeModel(model),
    }))
    const forms = models.flatMap(({ opset, model }, of) =>
      // bfloat16 came late: in CI it is tried in the newest version only
      (long || opset === newest ? (['fp16', 'bf16'] as const) : (['fp16'] as const)).flatMap((precision) => {
        try {
          const { model: half, report } = convertPrecision(parseModel(model), precision)
          return [
            { of, precision, model: writeModel(half), isConverted: !report.kept.some(({ node }) => node === 'node') },
          ]
        } catch (error) {
          // an opset that cannot be raised is said to be none
          if (error instanceof TensorRTError && error.code === 'ERR_TRT_PRECISION') return []
          throw error
        }
      }),
    )
    const answers = await askOnnx([...models, ...forms])
    const isValid = (of: number): boolean => answers[of]?.valid === null
    const held = forms.filter(({ of, isConverted }) => isConverted && isValid(of))
    const operators = new Set(held.map(({ of }) => models[of]?.name))
    t.ok(operators.size > 100 && held.length > 800, `${held.length} models of ${operators.size} operators`)
    const wrong = forms.flatMap(({ of, precision }, i) => {
      const { valid } = answers[models.length + i]!
      return isValid(of) && valid !== null ? [`${models[of]?.what} in ${precision}: ${valid}`] : []
    })
    t.same(wrong, [])
  },
)

t.test('networks', { skip: skipWithoutOnnx || skipWithoutRtx }, async (t) => {
  const cases = networks.slice(0, 4).map((make) => make())
  await checkCases(t, cases)
})
