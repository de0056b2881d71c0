import { onFile, readText } from '../../base/files.js'
import type { CalibrationSource } from '../../building/calibration.js'
import { refuseVectorized } from '../../building/options.js'
import { checkedBenchmarkOptions } from '../../engine/benchmark-options.js'
import { TensorRTError } from '../../errors.js'
import type { Plan } from '../../plan.js'
import type { BuildInfo } from '../../plan/info.js'
import { exitCodes } from '../exit-codes.js'
import { type Files, refuseFiles } from '../output/writable.js'
import { otherErrorText } from '../output/format.js'
import type { Session } from '../session.js'
import { type Call, type ExecAccount, execConsole, type ExecConsole } from './console.js'
import { helpText } from './help.js'
import { measureBuilt, measureOnCpu, measurePlan, measuringOf } from './measure.js'
import { parseArguments } from './parse.js'
import { profilesLines } from './report.js'
import { type BuildOrder, resolveBuild } from './resolve.js'
import type { ExecSettings } from './settings.js'
import { modelFacts, targetOf } from './target.js'

/**
 * `trt exec`: what trtexec does with these arguments, and the lines that it prints.
 * @returns what to exit with: 0, or 1 for whatever went wrong
 */
export async function exec(args: readonly string[], session: Session): Promise<number> {
  const console = execConsole(session, args)
  console.result('RUNNING')
  try {
    const settings = parseArguments(args.length === 0 ? ['--help'] : args)
    if (settings.help) {
      console.plain(helpText(session.name, session.width))
      return exitCodes.done
    }
    console.warn(...settings.notes)
    const account: ExecAccount = {}
    await perform({ settings, session, console, account })
    console.result('PASSED')
    if (settings.json) console.json(account)
    return exitCodes.done
  } catch (error) {
    if (session.signal.aborted) throw error
    reportFailure(error, console)
    return exitCodes.failed
  }
}

/** Programs look for the line with FAILED, whatever it was. What is a defect of ours keeps its stack. */
function reportFailure(error: unknown, console: ExecConsole): void {
  console.failed(error, error instanceof TensorRTError ? `${error.message} (${error.code})` : otherErrorText(error))
}

async function perform(call: Call): Promise<void> {
  const { settings } = call
  if (settings.planVersionOnly) return printVersion(call)
  if (settings.skipInference) refuseUnmeasured(settings)
  else checkedBenchmarkOptions(measuringOf(settings, undefined).options)
  await refuseFiles(filesOfCall(settings), refuse)
  if (settings.backend === 'cpu') return measureOnCpu(call)
  const unlisten = await listen(call)
  try {
    if (settings.loadEngine !== undefined) await measurePlan(call, settings.loadEngine)
    else await buildAndMeasure(call, settings.onnx ?? '')
  } finally {
    unlisten()
  }
}

function filesOfCall(settings: ExecSettings): Files {
  const { onnx, loadEngine, refitFromOnnx, calib, loadInputs, builder, exports, saveEngine, force } = settings
  const { timingCache, plugins = [], pluginsToSerialize = [] } = builder
  return {
    models: [onnx, loadEngine, refitFromOnnx],
    inputs: [calib, ...loadInputs.values(), timingCache, ...plugins, ...pluginsToSerialize],
    outputs: Object.values(exports),
    plan: saveEngine,
    force: force || undefined,
  }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT: trtexec knows no other exit code than 1 */
function refuse(message: string): never {
  throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
}

async function printVersion({ settings, console, account }: Call): Promise<void> {
  const { Plan } = await import('../../plan.js')
  const path = settings.loadEngine ?? ''
  const { info } = await Plan.inspect(path)
  account.plan = { builtBy: info.library, path }
  console.info(`The plan was built by ${info.library}`)
}

/** TensorRT's own log. */
async function listen({ settings, console }: Call): Promise<() => void> {
  const { onLog } = await import('../../log.js')
  const letters = { 'internal error': 'E', error: 'E', warning: 'W', info: 'I', verbose: 'V' } as const
  return onLog(
    ({ level, text }) => console.line(letters[level], `[TRT] ${text}`),
    settings.verbose ? 'verbose' : settings.quiet ? 'warning' : 'info',
  )
}

async function buildAndMeasure(call: Call, model: string): Promise<void> {
  const { settings, console } = call
  const facts = await modelFacts(model)
  const target = await targetOf(settings)
  console.info(
    `${target.name}${target.computeCapability === undefined ? '' : `, for a GPU of compute capability ${target.computeCapability}`}`,
  )
  const order = resolveBuild(settings, target, facts)
  console.info(...order.notes)
  console.warn(...order.warnings)
  if (!settings.skipInference) refuseVectorized(order.builder)
  const plan = await build(call, model, order)
  if (settings.saveEngine !== undefined) {
    await plan.save(settings.saveEngine, { signal: call.session.signal, overwrite: settings.force })
    console.info(
      `Created engine with size: ${(plan.bytes.length / 2 ** 20).toFixed(3)} MiB, saved as ${settings.saveEngine}`,
    )
  }
  if (settings.dumps.profiles) console.info(...profilesLines(plan.info.profiles))
  if (settings.skipInference) return console.info('Skipped inference phase since --skipInference is added.')
  await measureBuilt(call, { plan, target, model })
}

async function build(
  { settings, session, console, account }: Call,
  model: string,
  { builder: options, shapes }: BuildOrder,
): Promise<Plan<BuildInfo>> {
  const { Builder } = await import('../../builder.js')
  const calibrator = settings.calib === undefined ? undefined : await cachedCalibrator(settings.calib)
  const begun = performance.now()
  await using builder = new Builder(options)
  const { signal } = session
  const plan = await builder.build(model, { shapes: shapes.length > 0 ? shapes : undefined, calibrator, signal })
  const buildMs = performance.now() - begun
  console.info(`Engine built in ${(buildMs / 1000).toFixed(3)} sec.`)
  const { saveEngine: path } = settings
  account.plan = { builtBy: plan.info.library, bytes: plan.bytes.length, path, buildMs }
  return plan
}

/**
 * What was calibrated earlier; where TensorRT does not take it, nothing takes its place (trtexec takes one random
 * batch). @throws TensorRTError ERR_TRT_FILE, ERR_TRT_CALIBRATION
 */
async function cachedCalibrator(path: string): Promise<CalibrationSource> {
  const { parseTensorRTCache } = await import('../../quantization/tensorrt-cache.js')
  const text = await onFile('read', path, () => readText(path))
  const { algorithm } = parseTensorRTCache(text)
  return {
    algorithm: algorithm.startsWith('MinMax') ? 'minmax' : 'entropy',
    readCache: () => text,
    batches() {
      throw new TensorRTError(
        'ERR_TRT_CALIBRATION',
        `TensorRT did not take the calibration cache ${path}, whose first line is ${text.split('\n', 1)[0] ?? ''}: it is of another version or algorithm. ` +
          'Calibrate anew (trtexec would take one random batch)',
      )
    },
  }
}

/** Of what is exported, nothing is there where nothing was measured. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function refuseUnmeasured({ exports, dumps }: ExecSettings): void {
  const wanted = Object.keys(exports).length > 0 || dumps.profile || dumps.layerInfo || dumps.output
  if (wanted)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      'What is exported is measured: leave out --skipInference, or the options --export… and --dump…',
    )
}
