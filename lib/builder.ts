import type { NativeBuildOptions } from './backend/native-types.js'
import { type Build, buildInProcess, type BuildProgress, type ProgressListener } from './building/in-process.js'
import { Calibration, type CalibrationSource, checkCalibrated, checkedCalibrator } from './building/calibration.js'
import { converting } from './building/conversion.js'
import { IsolatedBuilds } from './building/isolated.js'
import { refusingOthers } from './building/refusing.js'
import type { NetworkInfo } from './plan/network.js'
import { type BuilderOptions, checkedBuilderOptions } from './building/options.js'
import { checkedProfiles, type Shapes } from './building/shapes.js'
import { reportTimingCache } from './building/timing-cache.js'
import { TensorRTError } from './errors.js'
import { checkedSource, type ModelSource } from './base/source.js'
import { shown, shownAs, type Shown } from './base/shown.js'
import { awaitRestacked } from './base/stacks.js'
import { Work } from './base/work.js'
import { checkedCall, is, needed, option, type OptionTable, signalOption } from './base/option-table.js'
import { type Abortable, checkedAbort } from './base/options.js'
import { buildInfo, networkInfo } from './building/info.js'
import { type Plan, planOf } from './plan.js'
import type { BuildInfo } from './plan/info.js'

/** Options of {@link Builder.build}. */
export interface BuildOptions {
  /** The shapes of dynamic inputs, by name: one optimization profile, or several. */
  readonly shapes?: Shapes | readonly Shapes[] | undefined
  /**
   * The data that TensorRT 10 measures the ranges of INT8 on, for a model without QuantizeLinear and DequantizeLinear.
   * Needs `precision` with `int8`. Without data, without layers that can be quantized, or with quantizing layers in the
   * model, the build fails.
   *
   * Other versions of TensorRT do not calibrate: ERR_TRT_UNSUPPORTED, before anything is built. There, and with
   * TensorRT 10 too, `quantize` of node-tensorrt/quantization puts the ranges into the model.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/_static/c-api/classnvinfer1_1_1_i_int8_calibrator.html
   */
  readonly calibrator?: CalibrationSource | undefined
  /** Called as the build goes on, on the thread of the caller. What it throws ends the build and rejects it. */
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined
  /**
   * Rejects the build at once with the signal's reason. TensorRT itself stops at its next step, or at once with
   * `isolation: 'process'`.
   */
  readonly signal?: AbortSignal | undefined
}

const buildRows = {
  shapes: needed(checkedProfiles),
  calibrator: option(checkedCalibrator),
  onProgress: option(is.listener<ProgressListener>()),
  signal: signalOption,
} satisfies OptionTable<BuildOptions>

/**
 * Builds plans from ONNX models, on threads of its own.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_builder.html
 * @example
 * ```ts
 * import { Builder } from 'node-tensorrt'
 *
 * const builder = new Builder({ workspace: '1GiB' })
 * const plan = await builder.build('model.onnx', {
 *   shapes: { images: { min: [1, 3, 224, 224], opt: [4, 3, 224, 224], max: [8, 3, 224, 224] } },
 *   onProgress: ({ phase, step, steps }) => console.log(phase, `${step}/${steps}`),
 *   signal: AbortSignal.timeout(600_000),
 * })
 * await plan.save('model.plan')
 * await builder.close()
 * ```
 */
export class Builder implements AsyncDisposable {
  readonly #options: NativeBuildOptions
  readonly #isolated: IsolatedBuilds | undefined
  readonly #build: Build
  readonly #running = new Work()
  #closed = false

  /** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
  constructor(options?: BuilderOptions) {
    const { isolation, ...native } = checkedBuilderOptions(options)
    const isolated = isolation === 'process' ? new IsolatedBuilds() : undefined
    this.#options = native
    this.#isolated = isolated
    this.#build = refusingOthers(converting(isolated ? (...args) => isolated.build(...args) : buildInProcess))
  }

  /**
   * Builds a plan.
   * @param model the path or `file:` URL of an ONNX model (weights in files beside it are found from there), or its
   * bytes, which are copied here
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_ONNX_PARSE, ERR_TRT_UNSUPPORTED_OPERATOR,
   * ERR_TRT_UNKNOWN_INPUT, ERR_TRT_SHAPES_REQUIRED, ERR_TRT_SHAPE, ERR_TRT_MISSING_INPUT, ERR_TRT_DETACHED,
   * ERR_TRT_PRECISION, ERR_TRT_DTYPE, ERR_TRT_BUILD, ERR_TRT_CRASH, ERR_TRT_TIMING_CACHE, ERR_TRT_NO_LIBRARY,
   * ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_UNSUPPORTED, ERR_TRT_INVALID_ARGUMENT, ERR_TRT_CLOSED
   */
  async build(model: ModelSource, options?: BuildOptions): Promise<Plan<BuildInfo>> {
    const { shapes: profiles, calibrator, onProgress, signal } = checkedCall(options, buildRows, 'build')
    if (calibrator) checkCalibrated(this.#options.options.values)
    if (this.#closed) throw new TensorRTError('ERR_TRT_CLOSED', 'The builder is closed')
    const source = checkedSource(model)
    const request = {
      ...this.#options,
      profiles,
      ...(calibrator && { calibration: { algorithm: calibrator.algorithm } }),
      ...(typeof source === 'string' ? { path: source } : { model: source }),
    }
    const calibration = calibrator && new Calibration(calibrator)
    const { result, ended } = this.#build(request, onProgress, signal, calibration)
    void this.#running.add(ended)
    const { plan, ...facts } = await awaitRestacked(calibration ? calibration.over(result) : result)
    return planOf(new Uint8Array(plan), buildInfo(reportTimingCache(facts), profiles), source)
  }

  /**
   * Parses a model, and tells what the network is made of. Nothing is built, and no shapes are needed; with
   * TensorRT-RTX no device is needed either. What the layers of an engine are, {@link Engine.layers} tells.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_ONNX_PARSE, ERR_TRT_UNSUPPORTED_OPERATOR,
   * ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_UNSUPPORTED, ERR_TRT_INVALID_ARGUMENT,
   * ERR_TRT_CRASH, ERR_TRT_CLOSED
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_network_definition.html
   * getLayer
   */
  async parse(model: ModelSource, options?: Abortable): Promise<NetworkInfo> {
    const signal = checkedAbort(options, 'parse')
    if (this.#closed) throw new TensorRTError('ERR_TRT_CLOSED', 'The builder is closed')
    const source = checkedSource(model)
    const given = typeof source === 'string' ? { path: source } : { model: source }
    const { result, ended } = this.#build({ ...this.#options, ...given, profiles: [], parseOnly: 1 }, undefined, signal)
    void this.#running.add(ended)
    return networkInfo((await awaitRestacked(result)).audit)
  }

  /**
   * Refuses new builds, waits until no build is under way, aborted ones too, and ends its processes. A second call does
   * no harm.
   */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running.idle()
    await this.#isolated?.close()
  }

  /** Calls {@link close}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** @internal What `console.log` shows. */
  [shownAs](...how: Shown): string {
    return shown('Builder', { state: this.#closed ? 'closed' : 'open' }, how)
  }
}
