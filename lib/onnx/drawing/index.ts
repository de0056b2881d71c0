import { checkedList, isText } from '../../base/checks.js'
import { checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import type { InferenceOptions } from '../inference.js'
import type { ModelProto } from '../onnx_pb.js'
import { checkedFormat, drawn, type DrawingFormat } from './formats.js'
import { modelGraph } from './model.js'

export type { DrawingFormat } from './formats.js'

/** Options of {@link drawModel} and `drawLayers`. */
export interface DrawingOptions {
  /** `'svg'` unless given. */
  readonly format?: DrawingFormat | undefined
  /** The names of nodes, or of values that they give: only what is near them is drawn. */
  readonly around?: string | readonly string[] | undefined
  /** How many steps from `around`, up and down; 3 unless given. */
  readonly depth?: number | undefined
  /**
   * The most nodes, the first ones that run; 300 unless given for SVG, whose layout takes its time (seconds, on this
   * thread), and all for DOT. A box says how many are not drawn.
   */
  readonly limit?: number | undefined
  /** The shapes of inputs, by name, as {@link inferTypes} takes them. */
  readonly shapes?: InferenceOptions['shapes'] | undefined
}

/**
 * The main graph of a model for people who would rather look: each node with its operator, name and attributes; its
 * constants within it, by type and shape; arrows with the shapes of values (their types too where they are not
 * float32). Names that are too long lose their middle, and are whole in the SVG's tooltips. The same model gives the
 * same drawing.
 * @throws TensorRTError (as a rejection) ERR_TRT_ONNX_PARSE for a graph that cannot run, ERR_TRT_SHAPE,
 * ERR_TRT_UNKNOWN_INPUT, ERR_TRT_INVALID_ARGUMENT
 */
export async function drawModel(model: ModelProto, options?: DrawingOptions): Promise<string> {
  const { format, shapes, limit, ...near } = checkedOptions(options, table, 'drawModel')
  const selection = { ...near, limit: limit ?? (format === 'svg' ? mostBoxes : Number.MAX_SAFE_INTEGER) }
  return drawn(modelGraph(model, selection, shapes), format)
}

/** Nobody finds anything in more. */
const mostBoxes = 300

function checkedNames(around: unknown): string[] {
  return checkedList(typeof around === 'string' ? [around] : around, 'around', 'names of nodes or values', isText)
}

const table = {
  format: option(checkedFormat, 'svg'),
  around: option(checkedNames),
  depth: option(is.whole(0), 3),
  limit: option(is.whole(1)),
  shapes: option((value) => value as InferenceOptions['shapes']),
} satisfies OptionTable<DrawingOptions>
