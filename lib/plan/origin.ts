import type { NativePlanOrigin } from '../backend/native-types.js'
import { TensorRTError } from '../errors.js'
import type { PrecisionReport } from '../onnx/precision/report.js'
import { checkedHeader } from './header.js'
import type { PlanInfo } from './info.js'
import { OpenPlan } from './read.js'

/** What decides where a plan runs, for native code, which knows the TensorRT and the GPU that are here. */
function originOf(label: string, info: PlanInfo): NativePlanOrigin {
  const { hardwareCompatibility, versionCompatible } = settingsOf(info)
  return {
    description: `${label} was ${builtBy(info)}`,
    exactVersion: info.builtBy !== undefined && versionCompatible !== true ? 1 : 0,
    gpu: info.gpu?.name ?? '',
    computeCapability: info.gpu?.computeCapability ?? '',
    reach: reachOf(hardwareCompatibility),
  }
}

/**
 * The same for a plan that is to be opened: its header, which an open file was already asked for, and its system fit.
 * `anyGpu`: its GPU is left to TensorRT.
 * @throws TensorRTError ERR_TRT_PLAN
 */
export function checkedOrigin(
  { name, content, info }: { readonly name: string; readonly content: Uint8Array | OpenPlan; readonly info: PlanInfo },
  { anyGpu = false }: { readonly anyGpu?: boolean | undefined } = {},
): NativePlanOrigin {
  if (!(content instanceof OpenPlan)) checkedHeader(name, content)
  checkSystem(name, info)
  const origin = originOf(name, info)
  return anyGpu ? { ...origin, reach: 'any' } : origin
}

/** "built by TensorRT 10.15.1 for NVIDIA A10 (8.6) on linux-x64", as far as it is known. */
export function builtBy({ library, gpu, system }: PlanInfo): string {
  const device = gpu === undefined ? '' : ` for ${gpu.name} (${gpu.computeCapability})`
  return `built by ${library}${device}${system === undefined ? '' : ` on ${system.os}-${system.arch}`}`
}

/** @throws TensorRTError ERR_TRT_PLAN where the plan was built on another system */
function checkSystem(label: string, info: PlanInfo): void {
  const { system } = info
  if (system === undefined || (system.os === process.platform && system.arch === process.arch)) return
  const here = { os: process.platform, arch: process.arch }
  throw new TensorRTError(
    'ERR_TRT_PLAN',
    `${label} was ${builtBy(info)}; here is ${here.os}-${here.arch}. Build it for this system`,
    {
      details: { plan: system, found: here },
    },
  )
}

interface Settings {
  readonly hardwareCompatibility?: unknown
  readonly versionCompatible?: unknown
  readonly stripWeights?: unknown
  readonly placeholderRanges?: unknown
  readonly precision?: unknown
}

/** What the library said of its own settings, where the build told it. */
function settingsOf(info: PlanInfo): Settings {
  const { settings } = info as { readonly settings?: unknown }
  return typeof settings === 'object' && settings !== null ? settings : {}
}

/** Whether it was built without its weights, as far as that was noted: TensorRT 10.14 and newer tell it themselves. */
export function isStripped(info: PlanInfo): boolean {
  return settingsOf(info).stripWeights === true
}

/**
 * Whether its ranges of INT8 are such that nobody measured, as far as that was noted; its engine's name tells it, too.
 */
export function hasPlaceholderRanges(info: PlanInfo): boolean {
  return settingsOf(info).placeholderRanges === true
}

/**
 * What is known of a plan once it was refitted: its weights are in it, and unless it is refittable still, they stay as
 * they are.
 */
export function refittedInfo(info: PlanInfo, refittable: boolean): PlanInfo {
  if (info.settings === undefined) return info
  return { ...info, settings: { ...info.settings, stripWeights: false, ...(!refittable && { refit: false }) } }
}

/** The precisions that it was built for, beside 32 bits; nothing where that is not known. */
export function precisionsOf(info: PlanInfo): readonly string[] {
  const { precision } = settingsOf(info)
  return Array.isArray(precision)
    ? precision.filter((name): name is string => typeof name === 'string' && name !== 'fp32')
    : []
}

/**
 * What was converted of its model to half precision, and stayed in float32; nothing where none was, or where that is
 * not known.
 */
export function conversionOf({ conversion }: PlanInfo): Pick<PrecisionReport, 'precision' | 'kept'> | undefined {
  const found = conversion as { readonly precision?: unknown; readonly kept?: unknown } | null | undefined
  const isKnown = (found?.precision === 'fp16' || found?.precision === 'bf16') && Array.isArray(found.kept)
  return isKnown ? conversion : undefined
}

/**
 * The names of the dimensions of inputs and outputs, by the tensor's name; nothing where a sidecar does not know them.
 */
export function dimensionNamesOf({ inputs, outputs }: PlanInfo): ReadonlyMap<string, readonly (string | undefined)[]> {
  const tensors: readonly { readonly name?: unknown; readonly dimensionNames?: unknown }[] = [inputs, outputs].flatMap(
    (list) => (Array.isArray(list) ? (list as object[]) : []),
  )
  const named = tensors.flatMap(({ name, dimensionNames }) =>
    typeof name === 'string' && Array.isArray(dimensionNames) ? [[name, dimensionNames as unknown[]] as const] : [],
  )
  return new Map(
    named.map(([name, list]) => [
      name,
      list.map((each) => (typeof each === 'string' && each !== '' ? each : undefined)),
    ]),
  )
}

/** What it may run on beside GPUs of the same model; what is not known here is left to TensorRT. */
function reachOf(hardwareCompatibility: unknown): NativePlanOrigin['reach'] {
  switch (hardwareCompatibility) {
    case undefined:
    case 'none':
      return 'model'
    case 'sameComputeCapability':
      return 'computeCapability'
    case 'ampere+':
      return 'ampere'
    default:
      return 'any'
  }
}
