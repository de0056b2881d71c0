import { dirname } from 'node:path'
import type { Command } from 'commander'
import { TensorRTError } from '../../errors.js'
import type { ModelProto } from '../../onnx/index.js'
import type { PrecisionReport } from '../../onnx/precision/report.js'
import { refuseUnknownNodes } from '../options/nodes.js'
import { bytesText, counted } from '../output/format.js'
import { type ForceGiven, refuseOutputs, withForce } from '../output/writable.js'
import { action, list, numberIn, newCommand, usageError, whole } from '../parsing.js'
import type { Session } from '../session.js'

interface ConvertGiven extends ForceGiven {
  readonly output: string
  readonly fp16?: true
  readonly bf16?: true
  readonly opset?: number
  readonly keep?: readonly string[]
  readonly keepOperators?: readonly string[]
  readonly keepIo: boolean
  readonly initMax?: number
  readonly maxReductionDepth?: number
  readonly externalData?: true
}

/** `trt convert`: `convertPrecision` and `raiseOpset` of `node-tensorrt/onnx`. */
export function command(session: Session): Command {
  const convert = newCommand(session, 'convert', 'model.onnx --fp16 --output model-fp16.onnx')
    .argument('<model>', 'an ONNX file')
    .requiredOption('-o, --output <FILE>', 'where the model is written')
    .option('--fp16', 'float32 becomes float16, but for what would lose by it')
    .option('--bf16', 'float32 becomes bfloat16')
    .option('--opset <N>', "a newer version of ONNX's operators", whole(1))
    .option('--keep <NAMES>', 'nodes that stay in float32', list)
    .option('--keep-operators <NAMES>', 'operators that do', list)
    .option('--no-keep-io', 'inputs and outputs are converted too')
    .option('--init-max <N>', 'a node with a stored number beyond it stays in float32', numberIn(0, Infinity))
    .option('--max-reduction-depth <N>', 'a node that adds up more products stays in float32', whole(1))
    .option('--external-data', 'weights go into a file beside the model')
  return action(withForce(convert), session, async (given: ConvertGiven, path: string) => {
    const { output, keep, keepOperators, force } = given
    refuseIdle(given, usageError(convert))
    await refuseOutputs({ models: [path], onnx: output, force }, usageError(convert))
    const onnx = await import('../../onnx/index.js')
    const { signal } = session
    const read = await onnx.readModel(path)
    // weights that came in files of their own go into one again
    const externalData = given.externalData === true || onnx.externalFiles(read).length > 0 ? true : 'auto'
    await onnx.loadExternalData(read, dirname(path))
    await refuseUnknownNodes(read, { names: ['--keep', keep], operators: ['--keep-operators', keepOperators] })
    const { model, report } = await converted(await raised(read, given.opset), given)
    await onnx.saveModel(model, output, { signal, externalData, overwrite: force === true })
    session.result({ model: output, opset: onnx.modelInfo(model).opset, ...report }, () => account(session, output, report))
  })
}

/** What cannot be together, and what would have no effect. */
function refuseIdle(given: ConvertGiven, refuse: (message: string) => never): void {
  const { fp16, bf16, opset, keep, keepOperators, keepIo, initMax, maxReductionDepth } = given
  if (fp16 && bf16) refuse('Expected --fp16 or --bf16 but received both')
  if (fp16 || bf16) return
  if (opset === undefined) refuse('Expected --fp16, --bf16 or --opset but received none of them')
  const ofPrecision = {
    '--keep': keep,
    '--keep-operators': keepOperators,
    '--no-keep-io': keepIo ? undefined : true,
    '--init-max': initMax,
    '--max-reduction-depth': maxReductionDepth,
  }
  const idle = Object.entries(ofPrecision).find(([, value]) => value !== undefined)
  if (idle !== undefined) refuse(`${idle[0]} says what --fp16 or --bf16 leaves as it is, and neither was given`)
}

async function raised(model: ModelProto, opset: number | undefined): Promise<ModelProto> {
  if (opset === undefined) return model
  const { GraphEditor, raiseOpset, whyNotRaised } = await import('../../onnx/index.js')
  const editor = new GraphEditor(model)
  if (opset < editor.opset)
    throw new TensorRTError(
      'ERR_TRT_UNSUPPORTED',
      `Expected an opset from ${editor.opset} on, the model's, for --opset but received ${opset}`,
    )
  const why = whyNotRaised(editor, opset)
  if (why !== undefined) throw new TensorRTError('ERR_TRT_UNSUPPORTED', `The model cannot be raised to opset ${opset}: ${why}`)
  if (opset > editor.opset) raiseOpset(editor, opset)
  return editor.finish()
}

async function converted(model: ModelProto, given: ConvertGiven): Promise<{ model: ModelProto; report?: PrecisionReport }> {
  if (!given.fp16 && !given.bf16) return { model }
  const { convertPrecision } = await import('../../onnx/index.js')
  const { keep: names, keepOperators: operators, keepIo: keepIO, initMax, maxReductionDepth } = given
  return convertPrecision(model, given.fp16 ? 'fp16' : 'bf16', { keep: { names, operators }, keepIO, initMax, maxReductionDepth })
}

function account(session: Session, path: string, report: PrecisionReport | undefined): string {
  if (report === undefined) return path
  const { precision, converted, casts, weights, kept } = report
  const fields = session.fields([
    ['model', path],
    ['converted', `${counted(converted, 'node')} to ${precision}, with ${counted(casts, 'cast')}`],
    ['weights', `${bytesText(weights.bytesBefore)} before, ${bytesText(weights.bytesAfter)} after`],
    ['flushed', weights.flushed > 0 ? `${counted(weights.flushed, 'stored number')} became 0` : undefined],
    ['in float32', kept.length === 0 ? 'nothing' : counted(kept.length, 'node')],
  ])
  if (kept.length === 0) return fields
  const rows = kept.slice(0, mostRows).map(({ node, operator, reason, detail }) => [node, operator, reason, detail])
  const more = kept.length > mostRows ? `\n… and ${kept.length - mostRows} more: --json has them all` : ''
  return `${fields}\n\n${session.table(['node', 'operator', 'reason', 'why'], rows)}${more}`
}

/** Of a table that says what became of single nodes. */
const mostRows = 20
