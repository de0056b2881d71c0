import type { BuilderOptions } from '../../building/builder-options.js'
import { TensorRTError } from '../../errors.js'
import type { ModelFacts } from './model.js'
import type { ExecSettings, PrecisionWish } from './settings.js'
import { isModern, type Target } from './target.js'

/** What precisions come to. */
export interface ResolvedPrecision {
  readonly options: Pick<BuilderOptions, 'precision' | 'placeholderRanges'>
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
}

type Wishes = Pick<ExecSettings, 'precisions' | 'best' | 'calib' | 'builder'>

/** What is said where a plan gets ranges that nobody measured. */
export const placeholderWarning = 'timing only: the outputs mean nothing'

/**
 * What --fp16, --int8 and the others come to with this library and this model.
 * @throws TensorRTError ERR_TRT_UNSUPPORTED, ERR_TRT_PRECISION
 */
export function resolvePrecision(
  wishes: Wishes,
  target: Target,
  model: Pick<ModelFacts, 'quantizes'>,
): ResolvedPrecision {
  if (isModern(target)) return byTheModel(wishes, target, model)
  if (wishes.builder.stronglyTyped === true) return stronglyTyped(wishes)
  const precisions = new Set([...wishes.precisions, ...(wishes.best ? bestOf(target) : [])])
  const placeholderRanges = precisions.has('int8') && !model.quantizes && wishes.calib === undefined
  return {
    options: { ...precisionOption([...precisions]), ...(placeholderRanges && { placeholderRanges }) },
    notes: [],
    warnings: placeholderRanges
      ? [
          `--${wishes.precisions.has('int8') ? 'int8' : 'best'} without quantizing layers in the model and without --calib sets ranges that nobody measured, ` +
            `±2 and ±4 (${placeholderWarning}). \`trt quantize\` measures them`,
        ]
      : [],
  }
}

function precisionOption(precisions: readonly PrecisionWish[]): Pick<BuilderOptions, 'precision'> {
  return precisions.length === 0 ? {} : { precision: precisions }
}

/** FP16, INT8 unless on a compute capability of 10.3, and BF16 from Ampere on. */
function bestOf({ computeCapability }: Target): PrecisionWish[] {
  const major = Number(computeCapability?.split('.')[0] ?? 8)
  return [
    'fp16',
    ...(computeCapability === '10.3' ? [] : (['int8'] as const)),
    ...(major >= 8 ? (['bf16'] as const) : []),
  ]
}

/** trtexec 10 switches its flags off then, and says so. */
function stronglyTyped({ precisions, calib }: Wishes): ResolvedPrecision {
  if (calib !== undefined)
    throw new TensorRTError('ERR_TRT_UNSUPPORTED', '--calib needs a weakly typed network: leave out --stronglyTyped')
  return {
    options: {},
    notes: [],
    warnings: [...precisions].map(
      (name) =>
        `Invalid usage, setting ${name} mode is not allowed if graph is strongly typed: --${name} has no effect`,
    ),
  }
}

/**
 * TensorRT 11 and TensorRT-RTX have no flags for precisions: what is asked for has to be in the model, or is put there.
 */
function byTheModel(
  { precisions, best, calib }: Wishes,
  { name }: Target,
  { quantizes }: Pick<ModelFacts, 'quantizes'>,
): ResolvedPrecision {
  const quantize = 'make a quantized model by `trt quantize`, and build that'
  if (best)
    throw new TensorRTError(
      'ERR_TRT_UNSUPPORTED',
      `--best: ${name} takes types from the model and chooses none itself. Take --fp16, which converts the model; for INT8 ${quantize}`,
    )
  if (calib !== undefined)
    throw new TensorRTError(
      'ERR_TRT_UNSUPPORTED',
      `--calib: ${name} does not calibrate, which TensorRT 10 alone does: ${quantize}`,
    )
  if (precisions.has('int8') && !quantizes)
    throw new TensorRTError(
      'ERR_TRT_PRECISION',
      `--int8: ${name} takes types from the model, which has no quantizing layers (QuantizeLinear, DequantizeLinear): ${quantize}`,
    )
  const halves = (['fp16', 'bf16'] as const).filter((half) => precisions.has(half))
  return {
    options: precisionOption([...precisions]),
    notes: halves.map(
      (half) =>
        `--${half}: ${name} takes types from the model, so the model is converted to ${half === 'fp16' ? 'float16' : 'bfloat16'} where its accuracy allows it`,
    ),
    warnings: [],
  }
}
