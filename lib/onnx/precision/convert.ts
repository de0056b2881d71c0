import { TensorRTError } from '../../errors.js'
import { copyModel } from '../copy.js'
import { GraphEditor, isOnnx } from '../editor.js'
import type { ModelProto, NodeProto } from '../onnx_pb.js'
import { classify, type Verdicts } from './classify.js'
import { dtypesOf } from './dtypes.js'
import { FloatGraph, nameOf } from './float-graph.js'
import { refusedPart, takesSince } from './operators.js'
import { highestOpset, raiseOpset, whyNotRaised } from '../opset.js'
import {
  checkedPrecisionOptions,
  type HalfPrecision,
  halfTypes,
  type PrecisionOptions,
  type PrecisionSettings,
} from './options.js'
import type { PrecisionReport } from './report.js'
import { Rewriting } from './rewrite.js'

/**
 * Makes a float32 model compute in float16 or bfloat16, by types in its graph: what TensorRT 11 and TensorRT-RTX, which
 * have no flags for it, and strongly typed networks of TensorRT 10 need; the rules are those of NVIDIA's AutoCast.
 * Nodes take the new type with their weights, unless something of them speaks against it ({@link KeptReason}); casts
 * stand only where values go from one type to the other; graphs inside of nodes (If, Loop, Scan) stay as they are.
 * Inputs and outputs of the model keep their types, unless `keepIO` is false. What overflows inside of the model only
 * data can tell: see the option `ranges`.
 *
 * It works on the calling thread, for about a second for 100 million weights; {@link Builder} does it on another one.
 * @param model stays as it is; weights of other files have to be loaded ({@link loadExternalData})
 * @returns a new model, which shares the weights that keep their type, and what became of it
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also for ranges of which none is of a value of the model;
 * ERR_TRT_ONNX_PARSE for a graph that cannot run; ERR_TRT_PRECISION for a model whose opset is too low and cannot be
 * raised: below 6, and for bf16 what the operators need
 * @see https://nvidia.github.io/TensorRT-Model-Optimizer/guides/8_autocast.html
 */
export function convertPrecision(
  model: ModelProto,
  precision: HalfPrecision,
  options?: PrecisionOptions,
): {
  /** The converted model. */
  readonly model: ModelProto
  /** What was converted, what was not and why. */
  readonly report: PrecisionReport
} {
  return convertInPlace(copyModel(model), precision, options)
}

/** The same on the model itself. */
export function convertInPlace(
  model: ModelProto,
  precision: HalfPrecision,
  options?: PrecisionOptions,
): ReturnType<typeof convertPrecision> {
  const settings = checkedPrecisionOptions(precision, options)
  const editor = new GraphEditor(model)
  const opset = raised(editor, settings)
  declareConstants(model)
  const graph = new FloatGraph(editor, precision, settings.keepIO ? inputsWithDefaults(editor) : undefined)
  refuseStrangeRanges(graph, settings)
  const verdicts = classify(graph, settings)
  refuseOldCasts(editor, verdicts, settings)
  const done = new Rewriting(graph, verdicts, settings.keepIO).run()
  const kept = Array.from(verdicts.kept, ([node, { reason, detail }]) => ({
    node: nameOf(node),
    operator: node.opType,
    reason,
    detail,
  }))
  const report = { precision, converted: verdicts.converted.size, kept, ...done, ...(opset && { opset }) }
  return { model: editor.finish(), report }
}

/**
 * Before version 4 of the file format every initializer had to be an input; runtimes take those for constants, as do
 * we.
 */
function declareConstants(model: ModelProto): void {
  const { graph } = model
  const names = new Set(graph?.initializer.map(({ name }) => name))
  if (graph === undefined || model.irVersion >= 4n || !graph.input.some(({ name }) => names.has(name))) return
  graph.input = graph.input.filter(({ name }) => !names.has(name))
  model.irVersion = 4n
}

/** Initializers that are inputs, too: what they have is a default. */
function inputsWithDefaults(editor: GraphEditor): ReadonlySet<string> {
  return new Set(editor.graph.input.map(({ name }) => name).filter((name) => editor.initializer(name) !== undefined))
}

/** Ranges of another model would change nothing, without a word. */
function refuseStrangeRanges({ dtypes }: FloatGraph, { ranges }: PrecisionSettings): void {
  const [first] = ranges.keys()
  if (first === undefined || [...ranges.keys()].some((name) => dtypes.has(name))) return
  throw new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `None of the ${ranges.size} ranges is of a value of this model: it has no ${JSON.stringify(first)}. Give those that were measured on it`,
  )
}

/** Up to opset 5 a Cast says its type in words, and there is nothing to raise such a model with. */
function refuseOldCasts({ opset }: GraphEditor, { converted }: Verdicts, { precision }: PrecisionSettings): void {
  if (opset >= oldestCast || converted.size === 0) return
  throw new TensorRTError(
    'ERR_TRT_PRECISION',
    `The model cannot be converted to ${halfTypes[precision]}: it has opset ${opset}, and a Cast as it is needed is there from opset ${oldestCast} on. Export it with a newer opset`,
    { details: { precision, opset, needed: oldestCast } },
  )
}

const oldestCast = 6

/**
 * Raises the opset to what the model's operators need for the type: bfloat16 came to Conv in 22. float16 was nearly
 * always there: what lacks it may stay in float32.
 */
function raised(editor: GraphEditor, settings: PrecisionSettings): PrecisionReport['opset'] {
  const from = editor.opset
  const { precision } = settings
  const wanted = neededOpset(editor, settings)
  if (wanted === undefined || wanted.opset <= from) return undefined
  const { opset, node } = wanted
  const reason = whyNotRaised(editor, opset)
  if (reason === undefined) {
    raiseOpset(editor, opset)
    editor.finish() // what was added is among what the graph declares
    return { from, to: opset }
  }
  if (precision === 'fp16') return undefined
  throw new TensorRTError(
    'ERR_TRT_PRECISION',
    `The model cannot be converted to bfloat16: ${nameOf(node)} (${node.opType}) takes it from opset ${opset} on, the model has ${from}, and cannot be raised: ${reason}. Export it with opset ${opset}`,
    { details: { precision, opset: from, needed: opset } },
  )
}

/** The highest that any node with float32 needs, of those that models can be raised to, and that node. */
function neededOpset(
  editor: GraphEditor,
  { precision, keepOperators }: PrecisionSettings,
): { readonly opset: number; readonly node: NodeProto } | undefined {
  const dtypes = dtypesOf(editor)
  const isFloat = (value: string): boolean => dtypes.get(value) === 'float32'
  let most: { opset: number; node: NodeProto } | undefined
  for (const node of editor.nodes()) {
    if (!isOnnx(node) || keepOperators.has(node.opType) || ![...node.input, ...node.output].some(isFloat)) continue
    if (refusedPart(node, precision) !== undefined) continue
    const opset = takesSince(node.opType, precision) ?? 0
    if (opset <= highestOpset && opset > (most?.opset ?? 0)) most = { opset, node }
  }
  return most
}
