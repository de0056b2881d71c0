import type { Command } from 'commander'
import { saveText } from '../../base/files.js'
import { TensorRTError } from '../../errors.js'
import type {
  QuantizationProgress,
  QuantizationReport,
  QuantizeOptions,
  QuantizedModel,
} from '../../quantization/index.js'
import {
  dataFilesOf,
  type DataGiven,
  dataOf,
  inputsOf,
  presetFileOf,
  withDataOptions,
  withPreset,
} from '../options/data.js'
import { refuseUnknownNodes } from '../options/nodes.js'
import { bytesText, counted, percentText } from '../output/format.js'
import type { Progress } from '../output/progress.js'
import { type ForceGiven, refuseOutputs, withForce } from '../output/writable.js'
import { action, choice, drawingFile, list, newCommand, numberIn, usageError, whole } from '../parsing.js'
import type { Session } from '../session.js'

interface QuantizeGiven extends DataGiven, ForceGiven {
  readonly output: string
  readonly algorithm?: 'minmax' | 'entropy' | 'percentile' | 'mse' | undefined
  readonly percentile?: number | undefined
  readonly calibration?: string | undefined
  readonly exclude?: readonly string[] | undefined
  readonly excludeOperators?: readonly string[] | undefined
  readonly weights?: 'int8' | 'float32' | undefined
  readonly minCosine?: number | undefined
  readonly plot?: string | undefined
  readonly threads?: number | undefined
}

const stages: Readonly<Record<QuantizationProgress['stage'], string>> = {
  calibrating: 'measuring ranges',
  ranking: 'each layer alone',
  choosing: 'choosing layers',
}

/** `trt quantize`: {@link quantize} of `node-tensorrt/quantization`. */
export function command(session: Session): Command {
  const command = newCommand(
    session,
    'quantize',
    'model.onnx --data photos/ --preset imagenet --output model-int8.onnx',
  )
    .argument('<model>', 'an ONNX file')
    .requiredOption('-o, --output <FILE>', 'where the model is written')
    .addOption(
      choice('--algorithm <NAME>', 'how ranges are found; mse unless given', [
        'minmax',
        'entropy',
        'percentile',
        'mse',
      ]),
    )
    .option('--percentile <P>', 'of percentile: what share of the magnitudes INT8 holds', numberIn(0, 100))
    .option('--calibration <FILE>', 'keeps what was measured; used again where model, data and algorithm are the same')
    .option('--exclude <NAMES>', 'nodes that stay in floating point', list)
    .option('--exclude-operators <NAMES>', 'operators that do', list)
    .addOption(choice('--weights <HOW>', 'how weights are stored; int8 unless given', ['int8', 'float32']))
    .option('--min-cosine <C>', 'leave as few layers in floating point as it takes for this', numberIn(0, 1))
    .option('--plot <FILE>', 'write the ranges as a picture (SVG)', drawingFile)
    .option('--threads <N>', 'how many threads the CPU runs the model with', whole(1))
  return action(withForce(withDataOptions(command)), session, async (asked: QuantizeGiven, path: string) => {
    const given = await withPreset(asked, usageError(command))
    const { output, plot, calibration: cache, force } = given
    const inputs = [...(await dataFilesOf(given)), presetFileOf(asked)]
    await refuseOutputs({ models: [path], inputs, onnx: output, outputs: [plot, cache], force }, usageError(command))
    const { externalFiles, readModel } = await import('../../onnx/index.js')
    const model = await readModel(path)
    const { exclude, excludeOperators } = given
    await refuseUnknownNodes(model, {
      names: ['--exclude', exclude],
      operators: ['--exclude-operators', excludeOperators],
    })
    const data = await dataOf(given, inputsOf(model, await import('../../onnx/index.js')), session)
    if (data === undefined)
      throw new TensorRTError(
        'ERR_TRT_CALIBRATION',
        'Expected --data, what the ranges are measured on, but received none: random numbers would give wrong ranges',
      )
    const { Calibrator, quantize, plotReport } = await import('../../quantization/index.js')
    const { algorithm, percentile, maxBatches } = given
    const calibrator = new Calibrator(data, { algorithm, percentile, maxBatches, cache })
    const quantized = await quantize(path, calibrator, optionsOf(given, session))
    // weights that came in files of their own go into one again
    const externalData = externalFiles(model).length > 0 ? true : 'auto'
    await quantized.save(output, { signal: session.signal, externalData, overwrite: force === true })
    if (plot !== undefined) await saveText(plot, plotReport(quantized.report))
    session.result({ model: output, report: quantized.report }, () => account(session, output, quantized))
  })
}

function optionsOf(
  { exclude: names, excludeOperators: operators, weights, minCosine, threads }: QuantizeGiven,
  session: Session,
): QuantizeOptions {
  return {
    exclude: { ...(names && { names }), ...(operators && { operators }) },
    weights,
    ...(minCosine !== undefined && { keep: { cosine: minCosine } }),
    threads,
    onProgress: tell(session.progress()),
    signal: session.signal,
  }
}

function tell(progress: Progress): (told: QuantizationProgress) => void {
  return ({ stage, batches }) => progress.update(0, 0, stages[stage], counted(batches, 'batch', 'batches'))
}

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
      `of ${counted(report.tensors.length, 'value')}, measured on ${counted(calibration.batches, 'batch', 'batches')}`,
    ],
    ['kept', kept.length > 0 ? kept.join(', ') : undefined],
    [
      'beyond fp16',
      beyondFloat16.length > 0
        ? `${counted(beyondFloat16.length, 'value')}: ${beyondFloat16.map(({ name }) => name).join(', ')}`
        : undefined,
    ],
  ])
  const reasons = countedReasons(report)
  return reasons.length === 0
    ? fields
    : `${fields}\n\n${session.table(['in floating point, since', 'layers'], reasons)}`
}

function uncountedText(layers: number): string {
  return layers === 0 ? '' : ` that could be counted: the shapes of ${counted(layers, 'layer')} are not known`
}

function countedReasons({ layers }: QuantizationReport): [string, number][] {
  const counts = new Map<string, number>()
  for (const { quantized, reason = '' } of layers) if (!quantized) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])
}
