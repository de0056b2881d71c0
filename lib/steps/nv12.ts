import { yuvCoefficients, type yuvMatrices, type yuvRanges } from './pixels/yuv.js'
import type { StepGraph } from './graph.js'

/** The opset whose Resize repeats pixels. */
export const nv12Opset = 11

export interface Yuv {
  readonly matrix: (typeof yuvMatrices)[number]
  readonly range: (typeof yuvRanges)[number]
}

/**
 * NV12 as RGB, each value a whole one of 0 to 255, as the host reads it.
 * @param bytes float32 [N, height * 3 / 2, width]: Y, and below it U and V in turns, one of each for 2 x 2 pixels
 * @returns [N, 3, height, width]
 */
export function rgbOfNv12(graph: StepGraph, bytes: string, { matrix, range }: Yuv): string {
  const { black, luma, red, greenU, greenV, blue } = yuvCoefficients(matrix, range)
  const planes = graph.unsqueeze(bytes, 1)
  const rows = graph.sizeAlong(graph.shapeOf(planes), 2)
  const height = graph.mul(graph.div(rows, graph.ints([3])), graph.ints([2]))
  const y = graph.mul(graph.sub(graph.slice(planes, 2, 0, height), graph.float(black)), graph.float(luma))
  // the sizes of Y, so that a builder sees that they are the same
  const sizes = graph.concat(
    [graph.slice(graph.shapeOf(planes), 0, 0, 2), height, graph.sizeAlong(graph.shapeOf(planes), 3)],
    0,
  )
  const chroma = graph.slice(planes, 2, height, rows)
  const [u, v] = [0, 1].map((first) =>
    graph.sub(repeated(graph, everySecond(graph, chroma, first), sizes), graph.float(128)),
  ) as [string, string]
  const green = graph.sub(graph.sub(y, graph.mul(u, graph.float(greenU))), graph.mul(v, graph.float(greenV)))
  const rgb = graph.concat(
    [graph.add(y, graph.mul(v, graph.float(red))), green, graph.add(y, graph.mul(u, graph.float(blue)))],
    1,
  )
  // halves up, as the host's bytes are made
  return graph.roundedUpByte(rgb)
}

function everySecond(graph: StepGraph, chroma: string, first: number): string {
  return graph.node('Slice', [chroma, graph.ints([first]), graph.ints([2 ** 31 - 1]), graph.ints([3]), graph.ints([2])])
}

/** Each pixel as 2 x 2. */
function repeated(graph: StepGraph, plane: string, sizes: string): string {
  const none = graph.opset < 13 ? graph.floats([]) : ''
  const attributes = { mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor' }
  return graph.node('Resize', [plane, none, none, sizes], attributes)
}
