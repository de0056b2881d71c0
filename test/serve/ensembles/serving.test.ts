// Ensembles of ONNX models, as a front-end asks them.
import t from 'tap'
import { identity, twoInTwoOut } from '../../support/models.js'
import { repository } from '../models/folders.js'
import { ask, ensemble, row, served } from './rig.js'

const plusMinus = {
  inputs: ['A FP32 [3]', 'B FP32 [3]'],
  outputs: ['TWICE FP32 [3]', 'ZERO FP32 [3]'],
  steps: ['sums(a=A, b=B -> sum=s, difference=d)', 'sums(a=s, b=d -> sum=TWICE)', 'same(x=d -> y=ZERO)'],
}

await t.test('steps one after the other and side by side', async (t) => {
  const folder = repository(t, {
    'sums/1/model.onnx': twoInTwoOut(),
    'same/1/model.onnx': identity('float32', ['N', 3]),
    ...ensemble('both', plusMinus),
  })
  const { models } = await served(folder)
  t.same(await ask(models, 'both', [row('A', 1, 2, 3), row('B', 4, 5, 6)]), { TWICE: [2, 4, 6], ZERO: [-3, -3, -3] })
  t.same(await ask(models, 'both', [row('A', 1, 2, 3), row('B', 4, 5, 6)], { outputs: ['ZERO'] }), {
    ZERO: [-3, -3, -3],
  })
  t.equal(models.inFlight, 0)
  await models.close()
})
