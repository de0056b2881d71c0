import { isAnyArrayBuffer, isUint8Array } from 'node:util/types'
import { checkedCall, is, option, type OptionTable, signalOption } from './base/option-table.js'
import { type Abortable, checkedAbort } from './base/options.js'
import { type OverwriteOptions, refuseOverwriting, rememberedFiles, rememberFiles } from './base/overwriting.js'
import { isLfsPointer } from './base/lfs.js'
import { isThere, pointed } from './base/files.js'
import { shapeText } from './base/dims.js'
import { shown, shownAs, type Shown } from './base/shown.js'
import { checkedPath } from './base/source.js'
import { expected } from './errors.js'
import { newHash, sha256Of } from './plan/hash.js'
import { checkedHeader, noPlan } from './plan/header.js'
import { headerInfo, type PlanInfo } from './plan/info.js'
import { isPlan, type ReadOptions, readPlan, type ReadPlan } from './plan/read.js'
import { sidecarPath } from './plan/sidecar.js'
import { writePlan } from './plan/write.js'

export type { BuildInfo, PlanInfo } from './plan/info.js'

/** Options of {@link Plan.save}. */
export interface SavePlanOptions extends Abortable, OverwriteOptions {}

const saveRows = {
  overwrite: option(is.boolean, false),
  signal: signalOption,
} satisfies OptionTable<SavePlanOptions>

/** What a plan is, found out without TensorRT, GPU or addon. */
export interface PlanReport {
  /** The size of the plan, in bytes. */
  readonly size: number
  /** The SHA-256 of the plan, in hexadecimal digits. */
  readonly sha256: string
  /** Where `info` comes from; a header tells only what built the plan. */
  readonly source: 'sidecar' | 'header'
  /** What the sidecar or the header tells. */
  readonly info: PlanInfo
  /** When it was saved, in UTC (ISO 8601); of a plan with a sidecar. */
  readonly savedAt?: string | undefined
  /** The version of this package that saved it; of a plan with a sidecar. */
  readonly savedBy?: string | undefined
}

/**
 * A serialized engine. It belongs to the TensorRT version that built it and, unless TensorRT-RTX built it, to the GPU
 * model; `versionCompatible` and `hardwareCompatibility` of {@link BuilderOptions} widen that.
 *
 * On disk there is a sidecar beside it, `<path>.json`: what `info` says, size and SHA-256. With it, damage is found
 * before TensorRT sees the plan, and so is a plan for another TensorRT, GPU or system.
 */
export class Plan<Info extends PlanInfo = PlanInfo> {
  /** The serialized engine. It is not to be changed. */
  readonly bytes: Uint8Array
  /** How it came about; of a plan that was loaded without a sidecar only what its header says. */
  readonly info: Info
  #sha256: string | undefined
  /** Where it was read from. */
  readonly #file: string | undefined

  /**
   * A plan from its bytes, which are not copied and are not to be changed. Of such a plan is known what its header
   * says; {@link Plan.load} knows more where there is a sidecar.
   * @throws TensorRTError ERR_TRT_PLAN when they do not begin as a plan does, or are fewer than their header says;
   * ERR_TRT_INVALID_ARGUMENT
   */
  constructor(bytes: Uint8Array | ArrayBuffer, ...none: PlanInfo extends Info ? [] : [never])
  /** @internal {@link Builder} and {@link Plan.load} know how it came about. */
  constructor(bytes: Uint8Array, info: Info, sha256: string, file?: string)
  constructor(bytes: Uint8Array | ArrayBuffer, info?: Info, sha256?: string, file?: string) {
    this.bytes = checkedBytes(bytes)
    this.info = info ?? (headerInfo(checkedHeader(labelOf(this.bytes), this.bytes)) as Info)
    this.#sha256 = sha256
    this.#file = file
    Object.freeze(this)
  }

  /**
   * The SHA-256 of the bytes, in hexadecimal digits. Of a plan that was made of bytes alone it is computed at the first
   * call, on this thread.
   */
  get sha256(): string {
    return (this.#sha256 ??= newHash().update(this.bytes).digest('hex'))
  }

  /**
   * Writes the plan and its sidecar. At every moment, also when the process is killed, the plan at the path is the old
   * or the new one whole, and its sidecar fits. Savers in other threads and processes of this user wait for each other
   * (by a file in the user's cache folder). A file that is replaced keeps its mode and its owner. Where `<path>.json`
   * is not a sidecar it is left alone, and nothing is saved. Needs the native addon.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE, also where it is a file of the model that the plan was built
   * from, unless `overwrite` allows it; ERR_TRT_PLAN when the bytes were changed; ERR_TRT_INVALID_ARGUMENT,
   * ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM; or it is the reason of the signal
   */
  async save(path: string | URL, options?: SavePlanOptions): Promise<void> {
    const { overwrite, signal } = checkedCall(options, saveRows, 'save')
    const target = checkedPath(path)
    if (!overwrite) await refuseModel(this, target)
    this.#sha256 ??= await sha256Of(this.bytes, signal)
    await writePlan(target, this, signal)
  }

  /**
   * Reads a plan from a file, or takes its bytes, which are not copied, and checks whether it is whole: by the SHA-256
   * in its sidecar, without one by the size in its header. Whether it runs here is found out when an engine opens it.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_PLAN, ERR_TRT_INVALID_ARGUMENT; or it is the reason of
   * the signal
   */
  static async load(source: string | URL | Uint8Array | ArrayBuffer, options?: Abortable): Promise<Plan> {
    const signal = checkedAbort(options, 'load')
    if (isUint8Array(source) || isAnyArrayBuffer(source)) {
      const { bytes, info } = new Plan(source)
      return new Plan(bytes, info, await sha256Of(bytes, signal))
    }
    const { bytes, sha256, info } = await readChecked(source, { keep: true, hash: true, signal })
    return new Plan(bytes, info, sha256, checkedPath(source))
  }

  /**
   * Says what a plan is, on any machine: a path, or bytes, of which only the header tells something.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_PLAN when it is damaged, ERR_TRT_INVALID_ARGUMENT
   */
  static async inspect(plan: string | URL | Uint8Array, options?: Abortable): Promise<PlanReport> {
    const signal = checkedAbort(options, 'inspect')
    if (isUint8Array(plan)) {
      const info = headerInfo(checkedHeader(labelOf(plan), plan))
      return { size: plan.length, sha256: await sha256Of(plan, signal), source: 'header', info }
    }
    const { size, sha256, info, entry } = await readChecked(plan, { keep: false, hash: true, signal })
    if (entry === undefined) return { size, sha256, source: 'header', info }
    return { size, sha256, source: 'sidecar', info, savedAt: entry.savedAt, savedBy: entry.savedBy }
  }

  /** @internal What `console.log` shows. */
  [shownAs](...how: Shown): string {
    const { library, profiles = [] } = this.info
    const briefly = profiles.map((profile) =>
      Object.fromEntries(
        profile.map(({ name, min, opt, max }) => [
          name,
          `min ${shapeText(min)} opt ${shapeText(opt)} max ${shapeText(max)}`,
        ]),
      ),
    )
    const known = { library, ...(briefly.length > 0 && { profiles: briefly }) }
    return shown('Plan', { file: this.#file, bytes: this.bytes.length, ...known }, how)
  }
}

function checkedBytes(bytes: unknown): Uint8Array {
  if (isUint8Array(bytes)) return bytes
  if (isAnyArrayBuffer(bytes)) return new Uint8Array(bytes)
  throw expected('a Uint8Array or an ArrayBuffer', 'the bytes of a plan', bytes)
}

function labelOf(bytes: Uint8Array): string {
  return `The plan of ${bytes.length} bytes`
}

/** A plan of bytes that TensorRT gave. `source`: the path of what it was made of, where it has one. */
export async function planOf<Info extends PlanInfo>(
  bytes: Uint8Array,
  info: Info,
  source?: unknown,
): Promise<Plan<Info>> {
  const plan = new Plan(bytes, info, await sha256Of(bytes))
  if (typeof source === 'string') rememberFiles(plan, source)
  return plan
}

/**
 * @throws TensorRTError ERR_TRT_FILE where a plan would be written over its own model, or a file that has weights of it
 */
async function refuseModel(plan: Plan, target: string): Promise<void> {
  const sources = rememberedFiles(plan)
  if (sources.length === 0 || !(await isThere(target))) return
  // here, since who opens a plan is to load no schema
  const { weightFilesOf } = await import('./onnx/external.js')
  const weights = await Promise.all(sources.map((source) => weightFilesOf(source)))
  await refuseOverwriting(plan, [target, sidecarPath(target)], weights.flat())
}

async function readChecked(path: unknown, options: ReadOptions): Promise<ReadPlan> {
  const source = checkedPath(path)
  const read = await readPlan(source, options)
  if (!isPlan(read)) throw isLfsPointer(read.head) ? pointed(source) : noPlan(source, read.head)
  return read
}
