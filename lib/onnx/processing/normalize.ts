import type { Color } from '../../pixels/types.js'
import { isWhole } from '../../pixels/whole.js'
import type { StepGraph } from './graph.js'
import type { CheckedSteps } from './input.js'

/**
 * What becomes of RGB values in the order in which the host does it: grey, rounded, (value - mean) * scale, the channels' order.
 * @param planes [N, 3, height, width]
 * @returns [N, 3 or 1, height, width]
 */
export function normalized(graph: StepGraph, planes: string, { filter, order, round, mean, scale }: CheckedSteps): string {
  const isGray = order === 'GRAY'
  const channels = isGray ? gray(graph, planes) : planes
  const isRounded = isWhole(filter, round) && !isGray
  const values = round && !isRounded ? graph.roundedByte(channels) : channels
  const perChannel = (factors: Color): string =>
    new Set(factors).size === 1 ? graph.float(factors[0]) : graph.floats(factors, [1, 3, 1, 1])
  const centred = mean.every((each) => each === 0) ? values : graph.sub(values, perChannel(mean))
  const scaled = scale.every((each) => each === 1) ? centred : graph.mul(centred, perChannel(scale))
  return order === 'BGR' ? graph.node('Gather', [scaled, graph.ints([2, 1, 0])], { axis: 1 }) : scaled
}

function gray(graph: StepGraph, planes: string): string {
  const [red, green, blue] = [0, 1, 2].map((channel) => graph.node('Gather', [planes, graph.ints([channel])], { axis: 1 })) as [
    string,
    string,
    string,
  ]
  const sum = graph.add(graph.mul(red, graph.float(0.299)), graph.mul(green, graph.float(0.587)))
  return graph.add(sum, graph.mul(blue, graph.float(0.114)))
}
