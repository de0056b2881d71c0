import type { BuilderOptions } from '../../building/options.js'
import { TensorRTError } from '../../errors.js'
import type { ExecSettings, PrecisionWish } from './settings.js'
import { type ModelFacts, isModern, type Target } from './target.js'

/** What precisions come to. */
export interface ResolvedPrecision {
  readonly options: Pick<BuilderOptions, 'precision' | 'placeholderRanges'>
  readonly notes?: readonly string[]
  readonly warnings?: readonly string[]
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
  const precision = precisions.size > 0 ? [...precisions] : undefined
  if (!precisions.has('int8') || model.quantizes || wishes.calib !== undefined) return { options: { precision } }
  const name = wishes.precisions.has('int8') ? 'int8' : 'best'
  const warning =
    `--${name} without quantizing layers in the model and without --calib sets ranges that nobody measured, ` +
    `±2 and ±4 (${placeholderWarning}). \`trt quantize\` measures them`
  return { options: { precision, placeholderRanges: true }, warnings: [warning] }
}

/** FP16, INT8 unless on a compute capability of 10.3, and BF16 from Ampere on. */
function bestOf({ computeCapability = '8.0' }: Target): PrecisionWish[] {
  const all: PrecisionWish[] = ['fp16', 'int8', 'bf16']
  const lacking = { int8: computeCapability === '10.3', bf16: Number(computeCapability.split('.')[0]) < 8 }
  return all.filter((name) => !(lacking as Partial<Record<string, boolean>>)[name])
}

/** trtexec 10 switches its flags off then, and says so. */
function stronglyTyped({ precisions, calib }: Wishes): ResolvedPrecision {
  if (calib !== undefined)
    throw new TensorRTError('ERR_TRT_UNSUPPORTED', '--calib needs a weakly typed network: leave out --stronglyTyped')
  const warnings = [...precisions].map(
    (name) => `Invalid usage, setting ${name} mode is not allowed if graph is strongly typed: --${name} has no effect`,
  )
  return { options: {}, warnings }
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
  const refuse = (message: string): TensorRTError => new TensorRTError('ERR_TRT_UNSUPPORTED', message)
  if (best)
    throw refuse(
      `--best: ${name} takes types from the model and chooses none itself. Take --fp16, which converts the model; for INT8 ${quantize}`,
    )
  if (calib !== undefined)
    throw refuse(`--calib: ${name} does not calibrate, which TensorRT 10 alone does: ${quantize}`)
  if (precisions.has('int8') && !quantizes)
    throw new TensorRTError(
      'ERR_TRT_PRECISION',
      `--int8: ${name} takes types from the model, which has no quantizing layers (QuantizeLinear, DequantizeLinear): ${quantize}`,
    )
  const types = { fp16: 'float16', bf16: 'bfloat16' } as const
  const halves = (['fp16', 'bf16'] as const).filter((half) => precisions.has(half))
  return {
    options: { precision: precisions.size > 0 ? [...precisions] : undefined },
    notes: halves.map(
      (half) =>
        `--${half}: ${name} takes types from the model, so the model is converted to ${types[half]} where its accuracy allows it`,
    ),
  }
}
