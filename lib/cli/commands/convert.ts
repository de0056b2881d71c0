import { dirname } from 'node:path'
import type { ModelProto, PrecisionOptions, ValueInfo } from '../../onnx/index.js'
import type { PrecisionReport } from '../../onnx/precision/report.js'
import { newCommand } from '../command.js'
import { type Flags, type FlagValues, usedFlags, list, numberIn, type Refuse, whole } from '../flags.js'
import { allDataFlags, type DataJob, dataJobOf, dataOf, filesOfData, firstBatch, inputsOf } from '../options/data.js'
import { refuseUnknownNodes } from '../options/nodes.js'
import { plural } from '../../benchmark/report/numbers.js'
import { bytesText, type Field } from '../output/format.js'
import { forceFlag, needFile, refuseFiles } from '../output/writable.js'
import { early } from '../refusal.js'
import type { Session } from '../session.js'

const convertFlags = {
  '-o, --output <FILE>': { required: 'where the model is written' },
  '--fp16': 'float32 becomes float16, but for what would lose by it',
  '--bf16': 'float32 becomes bfloat16',
  '--opset <N>': ["a newer version of ONNX's operators", whole(1)],
  '--open-sizes': 'pictures of any size and number where the model fixes them, and no node of it holds a size',
  '--keep-batch': 'with --open-sizes: the number of pictures stays as it is',
  '--keep <NAMES>': ['nodes that stay in float32', list],
  '--keep-operators <NAMES>': ['operators that do', list],
  '--no-keep-io': 'inputs and outputs are converted too',
  '--init-max <N>': ['a node with a stored number beyond it stays in float32', numberIn(0, Infinity)],
  '--data-max <N>': [
    'a node whose values go beyond it in --data stays in float32; 512 unless given',
    numberIn(0, Infinity),
  ],
  '--max-reduction-depth <N>': ['a node that adds up more products stays in float32', whole(1)],
  '--external-data': 'weights go into a file beside the model',
  ...allDataFlags,
  ...forceFlag,
} as const satisfies Flags

type ConvertFlags = FlagValues<typeof convertFlags>

/**
 * `trt convert`: `convertPrecision`, `withOpset` and `openSizes` of `node-tensorrt/onnx`; with `--data` the ranges of
 * values are measured first, by a `Calibrator` of `node-tensorrt/quantization`.
 */
export const command = newCommand('convert', {
  example: 'model.onnx --fp16 --output model-fp16.onnx',
  arguments: { '<model>': 'an ONNX file' },
  flags: convertFlags,
  run: async ({ flags, session, refuse }, path: string) => {
    const { output, keep, keepOperators, force } = flags
    refuseIdle(flags, refuse)
    await early(() => needFile(path))
    const job = await dataJobOf(flags, path, session, refuse)
    const needed = filesOfData(job, flags)
    await early(() => refuseFiles({ models: [path], needed, onnx: output, force }, refuse))
    const onnx = await import('../../onnx/index.js')
    const { signal } = session
    const read = await onnx.readModel(path)
    // weights that came in files of their own go into one again
    const externalData = flags.externalData === true || onnx.externalFiles(read).length > 0 ? true : 'auto'
    await onnx.loadExternalData(read, dirname(path))
    const nodes = { names: ['--keep', keep], operators: ['--keep-operators', keepOperators] } as const
    await early(() => refuseUnknownNodes(read, nodes))
    const raised = flags.opset === undefined ? read : await early(() => onnx.withOpset(read, flags.opset!))
    if (job !== undefined) await firstBatch(job, path, true, session, refuse)
    const ranges = job && (await measured(path, read, job, flags.maxBatches, session))
    const opened = flags.openSizes ? onnx.openSizes(raised, { batch: !flags.keepBatch }) : raised
    const { model, report } = await converted(opened, flags, ranges)
    await onnx.saveModel(model, output, { signal, externalData, overwrite: force === true })
    const { opset, inputs: saved } = onnx.inspectModel(model)
    const sizes = flags.openSizes && { inputs: saved.map(({ name, shape }) => ({ name, shape })) }
    const isMeasured = ranges !== undefined
    session.result({ model: output, opset, ...sizes, ...report }, () =>
      account(session, output, report, sizes?.inputs, isMeasured),
    )
  },
})

const ofPrecision = [
  '--keep',
  '--keep-operators',
  '--no-keep-io',
  '--init-max',
  '--data',
  '--input',
  '--max-reduction-depth',
]

/** What cannot be together, and what would have no effect. */
function refuseIdle(flags: ConvertFlags, refuse: Refuse): void {
  const { fp16, bf16, opset, openSizes, keepBatch, data, input } = flags
  if (fp16 && bf16) refuse('Expected --fp16 or --bf16 but received both')
  if (keepBatch && !openSizes) refuse('--keep-batch says what --open-sizes leaves as it is, and that was not given')
  if (flags.dataMax !== undefined && (data ?? input) === undefined)
    refuse('--data-max needs --data, which values are measured on')
  if (fp16 || bf16) return
  if (opset === undefined && !openSizes)
    refuse('Expected --fp16, --bf16, --opset or --open-sizes but received none of them')
  const [idle] = usedFlags(flags, ofPrecision)
  if (idle !== undefined) refuse(`${idle} says what --fp16 or --bf16 leaves as it is, and neither was given`)
}

/** The ranges of the model's values on the data that is given. */
async function measured(
  path: string,
  model: ModelProto,
  job: DataJob,
  maxBatches: number | undefined,
  session: Session,
): Promise<PrecisionOptions['ranges']> {
  const data = dataOf(job, inputsOf(model, await import('../../onnx/index.js')), session)
  const { Calibrator } = await import('../../quantization/index.js')
  const progress = session.progress()
  const onProgress = ({ batches }: { readonly batches: number }): void =>
    progress.update(0, 0, 'measuring ranges', plural(batches, 'batch', 'batches'))
  const calibrator = new Calibrator(data, { algorithm: 'minmax', maxBatches })
  return (await calibrator.calibrate(path, { onProgress, signal: session.signal })).ranges
}

async function converted(
  model: ModelProto,
  flags: ConvertFlags,
  ranges: PrecisionOptions['ranges'],
): Promise<{ model: ModelProto; report?: PrecisionReport | undefined }> {
  if (!flags.fp16 && !flags.bf16) return { model }
  const { convertPrecision } = await import('../../onnx/index.js')
  const { keep: names, keepOperators: operators, keepIo: keepIO, initMax, dataMax, maxReductionDepth } = flags
  const options = { keep: { names, operators }, keepIO, initMax, dataMax, ranges, maxReductionDepth }
  return convertPrecision(model, flags.fp16 ? 'fp16' : 'bf16', options)
}

function account(
  session: Session,
  path: string,
  report: PrecisionReport | undefined,
  inputs: readonly Pick<ValueInfo, 'name' | 'shape'>[] | undefined,
  isMeasured: boolean,
): string {
  const sizes: Field = ['inputs', inputs?.map(({ name, shape = [] }) => `${name} ${shape.join('x')}`).join(', ')]
  if (report === undefined) return inputs === undefined ? path : session.fields([['model', path], sizes])
  const { precision, converted, casts, clamped, weights, kept } = report
  const fields = session.fields([
    ['model', path],
    sizes,
    ['converted', `${plural(converted, 'node')} to ${precision}, with ${plural(casts, 'cast')}`],
    ['weights', `${bytesText(weights.bytesBefore)} before, ${bytesText(weights.bytesAfter)} after`],
    ['flushed', weights.flushed > 0 ? `${plural(weights.flushed, 'stored number')} became 0` : undefined],
    ['clamped', clamped.length > 0 ? `to the lowest number of ${precision}: ${clamped.join(', ')}` : undefined],
    [
      'not known',
      isMeasured || precision === 'bf16'
        ? undefined
        : 'what overflows inside of the model on your data: --data measures it',
    ],
    ['in float32', kept.length === 0 ? 'nothing' : plural(kept.length, 'node')],
  ])
  if (kept.length === 0) return fields
  const rows = kept.slice(0, mostRows).map(({ node, operator, reason, detail }) => [node, operator, reason, detail])
  const more = kept.length > mostRows ? `\n… and ${kept.length - mostRows} more: --json has them all` : ''
  return `${fields}\n\n${session.table(['node', 'operator', 'reason', 'why'], rows)}${more}`
}

/** Of a table that says what became of single nodes. */
const mostRows = 20
