import { TensorRTError } from '../../errors.js'
import { type ExecOption, forTensorRT, splitAt } from './option.js'
import { buildOptions } from './options-build.js'
import { goneOptions, inferenceOptions } from './options-inference.js'
import { planOptions } from './options-plan.js'
import { ExecSettings } from './settings.js'

/** Every option, once: the one place of what trtexec's options are, and what becomes of them. */
export const execOptions: readonly ExecOption[] = [
  ...forTensorRT(planOptions, '--onnx', '--verbose', '--help', '--json', '--force', '--backend'),
  ...forTensorRT(buildOptions, '--minShapes', '--optShapes', '--maxShapes', '--profile'),
  ...inferenceOptions,
  ...forTensorRT(goneOptions, '--explicitBatch', '--batch', '--maxBatch'),
]

const byName = new Map(
  execOptions.flatMap((option) => [option.name, ...(option.aliases ?? [])].map((name) => [name, option] as const)),
)

/** Arguments that trtexec has no option for. */
export class UnknownOptions extends TensorRTError {
  readonly options: readonly string[]

  constructor(options: readonly string[]) {
    super('ERR_TRT_INVALID_ARGUMENT', `Unknown option: ${options.join(', ')}. trt exec --help lists the options`)
    this.options = options
  }
}

/**
 * What trtexec's arguments ask for.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also {@link UnknownOptions}; ERR_TRT_UNSUPPORTED for an option that
 * is trtexec's and not here
 */
export function parseArguments(args: readonly string[]): ExecSettings {
  const split = args.map(splitAt)
  const unknown = split.flatMap(([name]) => (byName.has(name) ? [] : [name]))
  if (unknown.length > 0) throw new UnknownOptions(unknown)
  const settings = new ExecSettings()
  for (const [name, value] of split) applyOption(settings, name, value, byName.get(name)!)
  checkTogether(settings)
  return settings
}

function applyOption(settings: ExecSettings, name: string, value: string | undefined, option: ExecOption): void {
  const refuse = (what: string): TensorRTError => new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `${name} ${what}`)
  if (option.refused) {
    throw new TensorRTError('ERR_TRT_UNSUPPORTED', `${name} of trtexec is not here: ${option.becomes}`, {
      details: { option: name },
    })
  }
  if (option.value !== undefined && (value === undefined || value === ''))
    throw refuse(`needs a value: ${name}=${option.value}`)
  if (option.value === undefined && value !== undefined)
    throw refuse(`takes no value, and received ${JSON.stringify(value)}`)
  if (settings.given.has(option.name) && !option.repeats) throw refuse('was given twice')
  settings.given.add(option.name)
  if (option.note !== undefined) settings.notes.push(`${name} ${option.note}`)
  option.apply?.(settings, value ?? '', name)
}

/** Rules of trtexec's between options, whatever the library and the model. */
function checkTogether(settings: ExecSettings): void {
  const { onnx, loadEngine, saveEngine, given, builder } = settings
  if (settings.help) return
  const has = (name: string): boolean => given.has(name)
  const rules: [boolean, string][] = [
    [onnx === undefined && loadEngine === undefined, 'Expected a model: --onnx=FILE, or --loadEngine=FILE for a plan'],
    [onnx !== undefined && loadEngine !== undefined, '--onnx and --loadEngine cannot go together: give one'],
    [saveEngine !== undefined && loadEngine !== undefined, '--saveEngine and --loadEngine cannot go together'],
    [settings.planVersionOnly && loadEngine === undefined, '--getPlanVersionOnly needs --loadEngine'],
    [settings.backend === 'cpu' && onnx === undefined, '--backend=cpu needs --onnx: a plan runs on TensorRT alone'],
    [
      settings.backend === 'cpu' && saveEngine !== undefined,
      '--backend=cpu builds nothing that --saveEngine could write',
    ],
    [
      settings.best && has('--stronglyTyped'),
      '--best and --stronglyTyped cannot go together: one lets TensorRT choose types, the other does not',
    ],
    [
      settings.precisions.has('fp8') && (settings.best || settings.precisions.has('int8')),
      '--fp8 and --int8 (or --best) cannot go together',
    ],
    [
      (has('--layerPrecisions') || has('--layerOutputTypes')) && settings.precisionConstraints === 'none',
      '--layerPrecisions and --layerOutputTypes need --precisionConstraints=obey or prefer: without, TensorRT ignores them',
    ],
    [settings.calib !== undefined && !settings.best && !settings.precisions.has('int8'), '--calib needs --int8'],
    [has('--infStreams') && has('--streams'), '--streams is the old word for --infStreams: give one'],
    [
      has('--noBuilderCache') && builder.timingCache !== undefined,
      '--noBuilderCache and --timingCacheFile cannot go together',
    ],
    [
      settings.profiles.some((profile) => Object.keys(profile).length === 0),
      '--profile needs shapes: --minShapes, --optShapes, --maxShapes after it',
    ],
    ...opposites.map((pair): [boolean, string] => [pair.every(has), `${pair.join(' and ')} cannot go together`]),
  ]
  const broken = rules.find(([isBroken]) => isBroken)
  if (broken !== undefined) throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', broken[1])
}

const opposites = [
  ['--noDataTransfers', '--includeDataTransfers'],
  ['--useSpinWait', '--noSpinWait'],
  ['--useCudaGraph', '--noCudaGraph'],
] as const
