import { saveText } from '../../base/files.js'
import type { QuantizationProgress, QuantizationReport, QuantizedModel } from '../../quantization/index.js'
import { newCommand } from '../command.js'
import { drawingFile, type Flags, list, numberIn, whole } from '../flags.js'
import { allDataFlags, dataJobOf, dataOf, filesOfData, firstBatch, inputsOf } from '../options/data.js'
import { refuseUnknownNodes } from '../options/nodes.js'
import { plural } from '../../benchmark/report/numbers.js'
import { bytesText, percentText } from '../output/format.js'
import { forceFlag, needFile, refuseFiles } from '../output/writable.js'
import { early } from '../refusal.js'
import type { Session } from '../session.js'

const quantizeFlags = {
  '-o, --output <FILE>': { required: 'where the model is written' },
  '--algorithm <NAME>': ['how ranges are found; mse unless given', ['minmax', 'entropy', 'percentile', 'mse']],
  '--percentile <P>': ['of percentile: what share of the magnitudes INT8 holds', numberIn(0, 100)],
  '--calibration <FILE>': 'keeps what was measured; used again where model, data and algorithm are the same',
  '--exclude <NAMES>': ['nodes that stay in floating point', list],
  '--exclude-operators <NAMES>': ['operators that do', list],
  '--weights <HOW>': ['how weights are stored; int8 unless given', ['int8', 'float32']],
  '--min-cosine <C>': ['leave as few layers in floating point as it takes for this', numberIn(0, 1)],
  '--plot <FILE>': ['write the ranges as a picture (SVG)', drawingFile],
  '--threads <N>': ['how many threads the CPU runs the model with', whole(1, 1024)],
  ...allDataFlags,
  ...forceFlag,
} as const satisfies Flags

const stages: Readonly<Record<QuantizationProgress['stage'], string>> = {
  calibrating: 'measuring ranges',
  ranking: 'each layer alone',
  choosing: 'choosing layers',
}

/** `trt quantize`: {@link quantize} of `node-tensorrt/quantization`. */
export const command = newCommand('quantize', {
  example: 'model.onnx --data photos/ --preset imagenet --output model-int8.onnx',
  arguments: { '<model>': 'an ONNX file' },
  flags: quantizeFlags,
  run: async ({ flags, session, refuse }, path: string) => {
    const { output, plot, calibration: cache, force } = flags
    if (flags.percentile !== undefined && flags.algorithm !== 'percentile')
      refuse('--percentile is of --algorithm percentile, which was not given')
    await early(() => needFile(path))
    const job = await dataJobOf(flags, path, session, refuse)
    if (job === undefined)
      return refuse(
        '--data is needed, what the ranges are measured on: random numbers would give wrong ones',
        'ERR_TRT_CALIBRATION',
      )
    const needed = filesOfData(job, flags)
    await early(() => refuseFiles({ models: [path], needed, onnx: output, outputs: [plot, cache], force }, refuse))
    const onnx = await import('../../onnx/index.js')
    const model = await onnx.readModel(path)
    const { exclude: names, excludeOperators: operators } = flags
    const nodes = { names: ['--exclude', names], operators: ['--exclude-operators', operators] } as const
    await early(() => refuseUnknownNodes(model, nodes))
    await firstBatch(job, path, true, session, refuse)
    const data = dataOf(job, inputsOf(model, onnx), session)
    const { Calibrator, quantize, plotReport } = await import('../../quantization/index.js')
    const { algorithm, percentile, maxBatches, weights, minCosine, threads } = flags
    const calibrator = new Calibrator(data, { algorithm, percentile, maxBatches, cache })
    const { signal } = session
    const progress = session.progress()
    const quantized = await quantize(path, calibrator, {
      exclude: { names, operators },
      weights,
      keep: minCosine === undefined ? undefined : { cosine: minCosine },
      cpu: { threads },
      onProgress: ({ stage, batches }) => progress.update(0, 0, stages[stage], plural(batches, 'batch', 'batches')),
      signal,
    })
    // weights that came in files of their own go into one again
    const externalData = onnx.externalFiles(model).length > 0 ? true : 'auto'
    await quantized.save(output, { signal, externalData, overwrite: force === true })
    if (plot !== undefined) await saveText(plot, plotReport(quantized.report))
    const skipped = [...(job.unread ?? [])].map(([file, { code, message }]) => ({ file, code, message }))
    const document = { model: output, report: quantized.report, ...(skipped.length > 0 && { skipped }) }
    session.result(document, () => account(session, output, quantized))
  },
})

function account(session: Session, path: string, { report, calibration }: QuantizedModel): string {
  const { layers, multiplyAdds, weightBytes, kept, beyondFloat16 } = report
  const quantized = layers.filter((layer) => layer.quantized).length
  const fields = session.fields([
    ['model', path],
    [
      'layers',
      `${quantized} of ${layers.length} quantized, ${percentText(multiplyAdds.share)} of the multiply-adds${uncountedText(multiplyAdds.uncounted)}`,
    ],
    ['weights', `${bytesText(weightBytes.before)} before, ${bytesText(weightBytes.after)} after`],
    [
      'ranges',
      `of ${plural(report.tensors.length, 'value')}, measured on ${plural(calibration.batches, 'batch', 'batches')}`,
    ],
    ['kept', kept.length > 0 ? kept.join(', ') : undefined],
    [
      'beyond fp16',
      beyondFloat16.length > 0
        ? `${plural(beyondFloat16.length, 'value')}: ${beyondFloat16.map(({ name }) => name).join(', ')}`
        : undefined,
    ],
  ])
  const reasons = countedReasons(report)
  return reasons.length === 0
    ? fields
    : `${fields}\n\n${session.table(['in floating point, since', 'layers'], reasons)}`
}

function uncountedText(layers: number): string {
  return layers === 0 ? '' : ` that could be counted: the shapes of ${plural(layers, 'layer')} are not known`
}

function countedReasons({ layers }: QuantizationReport): [string, number][] {
  const counts = new Map<string, number>()
  for (const { quantized, reason = '' } of layers) if (!quantized) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])
}
