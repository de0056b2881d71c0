// A sample of ONNX's own backend tests through onnxruntime-node, a session and an Engine; the long test has them all.
import t from 'tap'
import { Random } from '../support/random.js'
import { judge, nodeTests, skipWithoutNodes, type Verdict, verdictOf } from './onnx-nodes.js'

t.test('200 of them give the same, or are refused by all', { skip: skipWithoutNodes }, async (t) => {
  const left = [...nodeTests()]
  const random = new Random(31)
  const verdicts: Verdict[] = []
  while (verdicts.length < 200) verdicts.push(await verdictOf(left.splice(random.below(left.length), 1)[0] as string))
  const { same = 0 } = judge(t, verdicts)
  t.ok(same > 150, `${same} run`)
})
