// All of ONNX's own backend tests through onnxruntime-node, a session and an Engine.
import t from 'tap'
import { judge, nodeTests, skipWithoutNodes, type Verdict, verdictOf } from './onnx-nodes.js'

t.test('each gives the same, or is refused by all', { skip: skipWithoutNodes }, async (t) => {
  const verdicts: Verdict[] = []
  for (const name of nodeTests()) verdicts.push(await verdictOf(name))
  const { same = 0, more = 0 } = judge(t, verdicts)
  t.ok(verdicts.length > 1400 && same > 1250, `${same} of ${verdicts.length} run`)
  t.ok(more > 15, `${more} run here alone`)
})
