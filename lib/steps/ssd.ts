import { checkedAnchors, checkedVariances } from './anchors/index.js'
import { checkedChoice, checkedWhole } from '../base/checks.js'
import { columns, fromAnchors, type Ranking, swappedPairs } from './boxes.js'
import type { CheckedDetection } from './checked-detection.js'
import type { StepGraph } from './graph.js'
import { canBe, knownSide, type Output, wrongOutputs } from './outputs.js'

/**
 * SSD: offsets [N, P, 4] from anchors that are the model's own, and scores [N, P, columns], the background among them.
 * Of two with 4 columns the first are the boxes.
 */
export function ssd(graph: StepGraph, outputs: readonly Output[], { own }: CheckedDetection): Ranking {
  const activation = checkedChoice(own['activation'] ?? 'sigmoid', 'activation', ['sigmoid', 'softmax', 'none'])
  const isDown = checkedChoice(own['order'] ?? 'yx', 'order', ['yx', 'xy']) === 'yx'
  const variances = checkedVariances(own['variances'])
  const anchors = checkedAnchors(own['anchors'])
  const firstClass = checkedWhole(own['firstClass'] ?? 1, 'firstClass', 0, 65535)
  const count = anchors.length / 4
  const wanted = `[N, ${count}, 4] and [N, ${count}, more than ${firstClass}], for the ${count} anchors that were given,`
  const boxes = outputs.find((output) => output.shape?.[2] === 4 && canBe(output, [undefined, count, 4]))
  const scores = outputs.find((output) => output !== boxes && canBe(output, [undefined, count, undefined]))
  if (outputs.length !== 2 || boxes === undefined || scores === undefined) throw wrongOutputs(wanted, outputs)
  const width = knownSide(scores, 2, wanted)
  if (width <= firstClass) throw wrongOutputs(wanted, outputs)
  const classes = checkedWhole(own['classes'] ?? width - firstClass, 'classes', 1, width - firstClass)
  const all = activation === 'softmax' ? graph.node('Softmax', [scores.name], { axis: 2 }) : scores.name
  return {
    scores: columns(graph, all, firstClass, firstClass + classes),
    sigmoid: activation === 'sigmoid',
    count,
    classes,
    boxes: ({ pick, pickStored }) => {
      const offsets = pick(boxes.name)
      return fromAnchors(graph, isDown ? swappedPairs(graph, offsets) : offsets, pickStored(anchors, 4), variances)
    },
  }
}
