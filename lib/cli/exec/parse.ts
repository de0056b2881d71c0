import { nearName } from '../../base/options.js'
import { TensorRTError } from '../../errors.js'
import { type ExecOption, forTensorRT, splitAt } from './option.js'
import { buildOptions } from './options-build.js'
import { goneOptions, inferenceOptions } from './options-inference.js'
import { planOptions } from './options-plan.js'
import { ExecSettings } from './settings.js'

/** Every option, once: the one place of what trtexec's options are, and what becomes of them. */
export const execOptions: readonly ExecOption[] = [
  ...forTensorRT(
    planOptions,
    '--onnx',
    '--verbose',
    '--help',
    '--json',
    '--quiet',
    '--endToEnd',
    '--force',
    '--backend',
  ),
  ...forTensorRT(buildOptions, '--minShapes', '--optShapes', '--maxShapes', '--profile'),
  ...inferenceOptions,
  ...forTensorRT(goneOptions, '--explicitBatch', '--batch', '--maxBatch'),
]

const byName = new Map(
  execOptions.flatMap((option) => [option.name, ...(option.aliases ?? [])].map((name) => [name, option] as const)),
)

/** Returns what was meant by an unknown argument. trtexec separates a value by `=`, other programs by a space. */
function hintOf(argument: string, before = ''): string | undefined {
  if (!argument.startsWith('-')) {
    const option = byName.get(before)?.value === undefined ? optionOfFile(argument) : before
    if (option !== undefined) return `write ${option}=${argument}`
  }
  const bare = (name: string): string => name.replace(/^-+/, '')
  const name = bare(splitAt(argument)[0])
  const near = name.length < 3 ? undefined : nearName(name, Array.from(byName.keys(), bare))
  return near === undefined ? undefined : `did you mean --${near}?`
}

function optionOfFile(name: string): string | undefined {
  if (name.endsWith('.onnx')) return '--onnx'
  return /\.(?:plan|engine|trt)$/.test(name) ? '--loadEngine' : undefined
}

/**
 * What trtexec's arguments ask for.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; ERR_TRT_UNSUPPORTED for an option that is trtexec's and not here
 */
export function parseArguments(args: readonly string[]): ExecSettings {
  const split = args.map(splitAt)
  const unknown = split.flatMap(([name], i) => {
    if (byName.has(name)) return []
    const hint = hintOf(args[i]!, args[i - 1])
    return [hint === undefined ? name : `${name} (${hint})`]
  })
  if (unknown.length > 0)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `Unknown option: ${unknown.join(', ')}. trt exec --help lists the options`,
    )
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
  if (settings.optionNames.has(option.name) && !option.repeats) throw refuse('was given twice')
  settings.optionNames.add(option.name)
  if (option.note !== undefined) settings.notes.push(`${name} ${option.note}`)
  option.apply?.(settings, value ?? '', name)
}

/** Rules of trtexec's between options, whatever the library and the model. */
function checkTogether(settings: ExecSettings): void {
  if (settings.help) return
  const { profiles, precisionConstraints } = settings
  const has = (name: string): boolean => settings.optionNames.has(name)
  const onCpu = settings.backend === 'cpu'
  const isTyped = has('--layerPrecisions') || has('--layerOutputTypes')
  const isQuantized = has('--int8') || has('--best')
  const rules: [boolean, string][] = [
    [!has('--onnx') && !has('--loadEngine'), 'Expected a model: --onnx=FILE, or --loadEngine=FILE for a plan'],
    [has('--onnx') && has('--loadEngine'), '--onnx and --loadEngine cannot go together: give one'],
    [has('--saveEngine') && has('--loadEngine'), '--saveEngine and --loadEngine cannot go together'],
    [settings.planVersionOnly && !has('--loadEngine'), '--getPlanVersionOnly needs --loadEngine'],
    [onCpu && !has('--onnx'), '--backend=cpu needs --onnx: a plan runs on TensorRT alone'],
    [onCpu && has('--saveEngine'), '--backend=cpu builds nothing that --saveEngine could write'],
    [
      has('--best') && has('--stronglyTyped'),
      '--best and --stronglyTyped cannot go together: one lets TensorRT choose types, the other does not',
    ],
    [has('--fp8') && isQuantized, '--fp8 and --int8 (or --best) cannot go together'],
    [
      isTyped && precisionConstraints === 'none',
      '--layerPrecisions and --layerOutputTypes need --precisionConstraints=obey or prefer: without, TensorRT ignores them',
    ],
    [has('--calib') && !isQuantized, '--calib needs --int8'],
    [has('--infStreams') && has('--streams'), '--streams is the old word for --infStreams: give one'],
    [has('--noBuilderCache') && has('--timingCacheFile'), '--noBuilderCache and --timingCacheFile cannot go together'],
    [
      profiles.some((profile) => Object.keys(profile).length === 0),
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
