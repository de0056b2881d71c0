import { checkedChoice } from '../../base/checks.js'
import { dotOf } from './dot.js'
import type { DrawnGraph } from './graph.js'
import { svgOf } from './svg.js'

/** A picture that browsers show, or what Graphviz makes one of. */
export type DrawingFormat = 'svg' | 'dot'

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedFormat(format: unknown = 'svg'): DrawingFormat {
  return checkedChoice(format, 'format', ['svg', 'dot'])
}

export async function drawn(graph: DrawnGraph, format: DrawingFormat): Promise<string> {
  return format === 'svg' ? svgOf(graph) : dotOf(graph)
}
