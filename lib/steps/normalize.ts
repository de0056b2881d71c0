import type { Color } from './pixels/types.js'
import { grayWeights, isWhole } from './pixels/whole.js'
import type { StepGraph } from './graph.js'
import type { CheckedSteps } from './input.js'

/**
 * What becomes of RGB values in the order in which the host does it: rounded, grey, (value - mean) * scale, the
 * channels' order.
 * @param planes [N, 3, height, width]
 * @returns [N, 3 or 1, height, width]
 */
export function normalized(
  graph: StepGraph,
  planes: string,
  { filter, order, round, mean, scale }: CheckedSteps,
): string {
  const channels = round && !isWhole(filter, round) ? graph.roundedByte(planes) : planes
  const values = order === 'GRAY' ? gray(graph, channels, round) : channels
  const perChannel = (factors: Color): string =>
    new Set(factors).size === 1 ? graph.float(factors[0]) : graph.floats(factors, [1, 3, 1, 1])
  const centred = mean.every((each) => each === 0) ? values : graph.sub(values, perChannel(mean))
  const scaled = scale.every((each) => each === 1) ? centred : graph.mul(centred, perChannel(scale))
  return order === 'BGR' ? graph.gather(scaled, [2, 1, 0], 1) : scaled
}

/** Of whole values a whole one, as PIL's convert('L'). */
function gray(graph: StepGraph, planes: string, round: boolean): string {
  const weights = round ? grayWeights : [0.299, 0.587, 0.114]
  const sum = weights
    .map((weight, channel) => graph.mul(graph.gather(planes, [channel], 1), graph.float(weight)))
    .reduce((a, b) => graph.add(a, b))
  return round ? graph.node('Floor', [graph.add(sum, graph.float(0.5))]) : sum
}
