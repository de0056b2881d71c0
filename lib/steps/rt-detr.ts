import { centredRows, columns, type Ranking } from './boxes.js'
import { type CheckedDetection, inputSizeOf } from './checked-detection.js'
import type { StepGraph } from './graph.js'
import { isWhole, knownSide, type Output, wrongOutputs } from './outputs.js'

const wanted =
  '[N, Q, classes] and [N, Q, 4] (logits and boxes), or [N, Q], [N, Q, 4] and [N, Q] (labels, boxes, scores), or [N, Q, 6] or [N, Q, 4 + classes] (box, then score and class or probabilities)'

/** RT-DETR in its three forms, as `decodeRtDetr` of lib/vision tells them apart. */
export function rtDetr(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): Ranking {
  if (outputs.length === 3) return done(graph, outputs)
  if (outputs.length === 2) return raw(graph, outputs, steps)
  return joined(graph, outputs, steps)
}

/** Centre and sides in 0 to 1 as corners in pixels. */
function inPixels(graph: StepGraph, rows: string, steps: CheckedDetection): string {
  const { width, height } = inputSizeOf(steps)
  return centredRows(graph, graph.mul(rows, graph.floats([width, height, width, height])))
}

function raw(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): Ranking {
  const logits = outputs.find(({ shape }) => shape?.[2] !== 4) ?? outputs[0]!
  const boxes = outputs.find((output) => output !== logits)!
  const count = knownSide(logits, 1, wanted)
  const classes = knownSide(logits, 2, wanted)
  const isRight = outputs.every((output) => output.shape?.length === 3 && output.shape[1] === count && !isWhole(output))
  if (!isRight || boxes.shape?.[2] !== 4) throw wrongOutputs(wanted, outputs)
  return {
    scores: logits.name,
    sigmoid: true,
    count,
    classes,
    boxes: ({ pick }) => inPixels(graph, pick(boxes.name), steps),
  }
}

function joined(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): Ranking {
  const [output] = outputs
  if (output?.shape?.length !== 3 || isWhole(output)) throw wrongOutputs(wanted, outputs)
  const { name } = output
  const count = knownSide(output, 1, wanted)
  const width = knownSide(output, 2, wanted)
  if (width < 5) throw wrongOutputs(wanted, outputs)
  const boxes: Ranking['boxes'] = ({ pick }) => inPixels(graph, pick(columns(graph, name, 0, 4)), steps)
  if (width !== 6) return { scores: columns(graph, name, 4, width), sigmoid: false, count, classes: width - 4, boxes }
  return {
    scores: columns(graph, name, 4, 5),
    sigmoid: false,
    count,
    classes: 1,
    labels: graph.node('Round', [columns(graph, name, 5, 6)]),
    boxes,
  }
}

/** Its authors' export has decoded, in pixels of what its second input said. */
function done(graph: StepGraph, outputs: readonly Output[]): Ranking {
  const labels = outputs.find((output) => isWhole(output) && output.shape?.length === 2)
  const boxes = outputs.find((output) => !isWhole(output) && output.shape?.length === 3 && output.shape[2] === 4)
  const scores = outputs.find((output) => !isWhole(output) && output.shape?.length === 2)
  if (labels === undefined || boxes === undefined || scores === undefined) throw wrongOutputs(wanted, outputs)
  const count = knownSide(boxes, 1, wanted)
  if (labels.shape?.[1] !== count || scores.shape?.[1] !== count) throw wrongOutputs(wanted, outputs)
  return {
    scores: graph.unsqueeze(scores.name, 2),
    sigmoid: false,
    count,
    classes: 1,
    labels: graph.unsqueeze(graph.cast(labels.name, 'int32'), 2),
    boxes: ({ pick }) => pick(boxes.name),
  }
}
