// A version of a model on engines of this package: what answers the requests of a front-end.
import { readLabels } from '../repository/labels.js'
import { batchingOf, takesTimeout } from '../config/batching.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import { tensorsOf } from '../config/tensors.js'
import { Fault, faultOf } from '../faults.js'
import { dtypeOf, elementBytes, type WireTensor } from '../../kserve/tensor.js'
import { countersSince, sumOfCounters } from './counters.js'
import { type EngineStep, isOnDevice, type PlacedRequest, type PlacedTensor, reshaped } from './engine-steps.js'
import { mergingOf, type OpenEngine, openVersion, type OpenVersion } from './engines.js'
import type { LoadOptions } from './load-options.js'
import { checkRequest, type CheckedRequest, type RequestRules, requestText, type TensorRule } from './request-checks.js'
import { RowCounts } from './row-counts.js'
import { rulesOf } from './rules.js'
import type { LoadedVersion, ServableRequest, ServableTensor, Slot } from './servable.js'
import type { ModelSettings } from './settings.js'
import { clientShape, modelShape } from './shapes.js'
import { memoryOf, SlotPool } from './slots.js'
import { Visits } from './visits.js'
import { warmUp } from './warmup.js'
import type { EngineCounters } from '../../backend/backend.js'
import { Cut } from '../../base/cancellation.js'
import type { AnyTensor } from '../../device-tensor.js'
import { runWithCut } from '../../engine.js'
import { TensorRTError } from '../../errors.js'
import { Tensor } from '../../tensor.js'

/** An engine and the rows that it has not answered yet. */
interface Busy extends OpenEngine {
  rows: number
}

/** By name, or the only one. */
type Tensors = Tensor | Readonly<Record<string, Tensor>>

type RunOptions = NonNullable<Parameters<typeof runWithCut>[2]>

const bytesKept = 64 * 2 ** 20

export class EngineModel implements LoadedVersion, EngineStep {
  readonly name: string
  readonly version: string
  readonly config: ModelConfig
  readonly inputs: ReadonlyMap<string, ServableTensor>
  readonly outputs: ReadonlyMap<string, ServableTensor>
  readonly slots: SlotPool
  readonly #visits: Visits
  readonly #rules: RequestRules
  readonly #engines: readonly Busy[]
  /** Names of all outputs, where the engine has others beside them. */
  readonly #wanted: readonly string[] | undefined
  /** It has one input and one output: then an engine takes and gives bare tensors, which costs it less than records of them. */
  readonly #isBare: boolean
  readonly #levels: number
  /** Where the model has batches and merges no requests. */
  readonly #rowCounts: RowCounts | undefined
  #before: readonly EngineCounters[] = []
  #lastInference = 0
  #closing: Promise<void> | undefined

  /**
   * Opens the engines of a version, completes its configuration, and warms it up: what it gives is ready.
   * @throws Fault, TensorRTError (as a rejection), or the reason of the signal; no engine is left open
   */
  static async load(options: LoadOptions): Promise<EngineModel> {
    const { folder, version, settings, signal } = options
    const open = await openVersion(options, settings, signal)
    try {
      const labels = await readLabels(folder, open.config)
      const model = new EngineModel(folder.name, version, open, labels, settings)
      await model.#warmUp(folder.path, settings)
      signal.throwIfAborted()
      return model
    } catch (error) {
      await Promise.all(open.engines.map(({ engine }) => engine.close()))
      throw error
    }
  }

  constructor(
    name: string,
    version: string,
    { config, engines }: OpenVersion,
    labels: ReadonlyMap<string, readonly string[]>,
    settings: ModelSettings,
  ) {
    const [first] = engines
    if (first === undefined) throw new Fault('INVALID_ARG', `Expected an instance group for model '${name}'`)
    this.name = name
    this.version = version
    this.#visits = new Visits(name, version)
    this.config = config
    const { inputs, outputs } = tensorsOf(config, labels)
    this.inputs = inputs
    this.outputs = outputs
    this.#engines = engines.map((each) => ({ ...each, rows: 0 }))
    this.#rules = rulesOf(name, config, inputs, outputs)
    this.#wanted = first.engine.outputNames.length + first.engine.unsupported.length > outputs.size ? [...outputs.keys()] : undefined
    this.#isBare = this.#wanted === undefined && first.engine.inputNames.length === 1 && first.engine.outputNames.length === 1
    this.#levels = batchingOf(config)?.priorities?.levels ?? 1
    this.#rowCounts = config.maxBatchSize > 0 && mergingOf(config) === undefined ? new RowCounts() : undefined
    this.slots = new SlotPool(memoryOf(first.engine), settings.slotBytesKept ?? bytesKept)
  }

  get platform(): string {
    return this.config.platform
  }

  get lastInference(): number {
    return this.#lastInference
  }

  get inFlight(): number {
    return this.#visits.inFlight
  }

  get pending(): number {
    return this.#engines.reduce((sum, { engine }) => sum + engine.stats.waiting, 0)
  }

  reserve(bytes: number): Slot {
    try {
      return this.slots.reserve(bytes)
    } catch (error) {
      throw faultOf(error)
    }
  }

  async infer(request: ServableRequest, cut: Cut): Promise<readonly WireTensor[]> {
    const leave = this.#visits.inside()
    try {
      const checked = checkRequest(this.#rules, request)
      this.#lastInference = Date.now()
      const answer = await this.#run(this.#leastBusy(), checked, this.#optionsOf(request), cut)
      this.#rowCounts?.answered(checked.rows)
      return answer
    } catch (error) {
      throw cut.happened ? error : requestFault(error, request.id)
    } finally {
      leave()
    }
  }

  get devices(): readonly number[] {
    return this.#engines.map(({ device }) => device)
  }

  async inferPlaced(request: PlacedRequest, cut: Cut): Promise<readonly PlacedTensor[]> {
    const leave = this.#visits.inside()
    try {
      const checked = checkRequest(this.#rules, request)
      this.#lastInference = Date.now()
      const answer = await this.#runPlaced(checked, request, cut)
      this.#rowCounts?.answered(checked.rows)
      return answer
    } catch (error) {
      throw cut.happened ? error : requestFault(error, request.id)
    } finally {
      leave()
    }
  }

  /** On an engine of the device on which inputs are: they are all on one. */
  async #runPlaced({ rows, inputs }: CheckedRequest<PlacedTensor>, request: PlacedRequest, cut: Cut): Promise<readonly PlacedTensor[]> {
    const device = request.inputs.find(isOnDevice)?.tensor.device
    const busy = this.#leastBusy(device)
    const tensors = Object.create(null) as Record<string, AnyTensor>
    const views: Disposable[] = []
    busy.rows += rows
    try {
      for (const { rule, tensor } of inputs) {
        if (!isOnDevice(tensor)) tensors[rule.name] = this.#modelTensor(rule, tensor, rows)
        else views.push((tensors[rule.name] = reshaped(tensor.tensor, modelShape(this.#rules, rule, tensor.shape))))
      }
      const outputs = request.outputs ?? [...this.outputs.keys()]
      const location = Object.fromEntries(outputs.map((name) => [name, request.keep.has(name) ? ('device' as const) : ('host' as const)]))
      const running = runWithCut(busy.engine, tensors, { ...this.#optionsOf(request), outputs, location }, cut)
      for (const view of views.splice(0)) view[Symbol.dispose]() // the engine has them
      return this.#placedAnswer((await running) as Readonly<Record<string, AnyTensor>>)
    } finally {
      for (const view of views) view[Symbol.dispose]()
      busy.rows -= rows
    }
  }

  #placedAnswer(results: Readonly<Record<string, AnyTensor>>): readonly PlacedTensor[] {
    return Object.entries(results).map(([name, tensor]) => {
      const rule = this.#rules.outputs.get(name) as TensorRule
      const common = { name, datatype: rule.datatype, shape: clientShape(this.#rules, rule, tensor.shape) }
      if (tensor.location === 'device') return { ...common, tensor, bytes: { length: tensor.byteLength } }
      const { data } = tensor
      return { ...common, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) }
    })
  }

  /** The one with the fewest rows under way, of those on a device where one is named that it has an engine on. */
  #leastBusy(device?: number): Busy {
    const there = device === undefined ? this.#engines : this.#engines.filter((each) => each.device === device)
    return (there.length > 0 ? there : this.#engines).reduce((best, each) => (each.rows < best.rows ? each : best))
  }

  async #run(busy: Busy, checked: CheckedRequest, options: RunOptions | undefined, cut: Cut): Promise<readonly WireTensor[]> {
    const { rows } = checked
    const tensors = this.#modelTensors(checked)
    busy.rows += rows
    try {
      return this.#answer((await runWithCut(busy.engine, tensors, options, cut)) as Tensors)
    } finally {
      busy.rows -= rows
    }
  }

  #modelTensors({ rows, inputs }: CheckedRequest): Tensors {
    const [only] = inputs
    if (this.#isBare && only !== undefined) return this.#modelTensor(only.rule, only.tensor, rows)
    const tensors = Object.create(null) as Record<string, Tensor>
    for (const { rule, tensor } of inputs) tensors[rule.name] = this.#modelTensor(rule, tensor, rows)
    return tensors
  }

  #optionsOf({ outputs: named = [], priority = 0, timeoutUs = 0 }: Omit<ServableRequest, 'inputs'>): RunOptions | undefined {
    // they are checked: as many as there are is all of them, which an engine needs no list for
    const outputs = named.length === 0 || named.length === this.outputs.size ? this.#wanted : named
    const level = this.#levels > 1 && priority >= 1 && priority <= this.#levels ? priority : 0
    const shortens = timeoutUs > 0 && takesTimeout(this.config, level)
    if (outputs === undefined && level === 0 && !shortens) return undefined
    return {
      ...(outputs !== undefined && { outputs }),
      ...(level > 0 && { priority: level }),
      ...(shortens && { queueTimeoutMs: Math.min(Math.max(timeoutUs, 1) / 1000, longestTimeout) }),
    }
  }

  #modelTensor(rule: TensorRule, { datatype, shape, bytes }: WireTensor, rows: number): Tensor {
    if (datatype === 'BYTES')
      throw new Fault('UNSUPPORTED', `input '${rule.name}' of model '${this.name}' has texts, which are not served yet`)
    const dtype = dtypeOf[datatype]
    if (rule.isShapeTensor && this.#countsRows(rule)) return withRows(dtype, bytes, rows)
    return Tensor.fromBytes(dtype, aligned(bytes, elementBytes[datatype]), modelShape(this.#rules, rule, shape))
  }

  /** Whether the values of a shape tensor begin with the rows of the batch, which clients do not give. */
  #countsRows({ name, dims }: TensorRule): boolean {
    return this.#rules.maxBatch > 0 && this.#engines[0]?.engine.inputs[name]?.shape[0] === (dims[0] ?? 0) + 1
  }

  #answer(results: Tensors): readonly WireTensor[] {
    const answer: WireTensor[] = []
    for (const [name, rule] of this.#rules.outputs) {
      const tensor = this.#isBare ? (results as Tensor) : (results as Readonly<Record<string, Tensor>>)[name]
      if (tensor === undefined) continue // not wanted
      const { data } = tensor
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      answer.push({ name, datatype: rule.datatype, shape: clientShape(this.#rules, rule, tensor.shape), bytes })
    }
    return answer
  }

  counters(): EngineCounters {
    const [first, ...others] = this.#engines.map(({ engine }, i) => sinceWarmup(engine.counters(), this.#before[i]))
    if (first === undefined) throw new Fault('INTERNAL', `model '${this.name}' has no engine`)
    const sum = sumOfCounters([first, ...others])
    return this.#rowCounts?.applied(sum) ?? sum
  }

  async #warmUp(folder: string, settings: ModelSettings): Promise<void> {
    await warmUp({
      config: this.config,
      folder,
      rules: this.#rules,
      bestShape: (input) => this.#engines[0]?.engine.inputs[input]?.profiles[0]?.opt,
      bestValues: (input) => this.#engines[0]?.engine.inputs[input]?.profileValues[0]?.opt,
      run: (inputs) => this.#runOnEach(inputs),
      onWarning: (text) => settings.onWarning?.(text),
    })
    this.#before = this.#engines.map(({ engine }) => engine.counters())
    this.#lastInference = 0
  }

  async #runOnEach(inputs: readonly WireTensor[]): Promise<void> {
    const checked = checkRequest(this.#rules, { inputs })
    const runs = this.#engines.flatMap((busy) =>
      Array.from({ length: busy.lanes }, () => this.#run(busy, checked, this.#optionsOf({}), new Cut())),
    )
    const failed = (await Promise.allSettled(runs)).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }

  enter(): () => void {
    return this.#visits.enter()
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.#visits.end()
    this.slots.close()
    await Promise.all(this.#engines.map(({ engine }) => engine.close()))
  }
}

const longestTimeout = 2 ** 31 - 1

function sinceWarmup(now: EngineCounters, before: EngineCounters | undefined): EngineCounters {
  return before === undefined ? now : countersSince(now, before)
}

/** The same bytes, or a copy where elements would begin at odd places. */
function aligned(bytes: Uint8Array, element: number): Uint8Array<ArrayBuffer> {
  const isPlain = bytes.buffer instanceof ArrayBuffer && bytes.byteOffset % element === 0
  return isPlain ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}

/** The values of a shape tensor with the rows of the batch before them. */
function withRows(dtype: Tensor['dtype'], bytes: Uint8Array, rows: number): Tensor {
  const count = dtype === 'int64' ? new Uint8Array(BigInt64Array.of(BigInt(rows)).buffer) : new Uint8Array(Int32Array.of(rows).buffer)
  const all = new Uint8Array(count.length + bytes.length)
  all.set(count)
  all.set(bytes, count.length)
  return Tensor.fromBytes(dtype, all, [all.length / count.length])
}

/** Triton's words for what a queue refuses; all else as it is. */
function requestFault(error: unknown, id: string | undefined): Fault {
  if (error instanceof TensorRTError && error.code === 'ERR_TRT_QUEUE_FULL')
    return new Fault('UNAVAILABLE', `${requestText(id)}Exceeds maximum queue size`, error)
  if (error instanceof TensorRTError && error.code === 'ERR_TRT_QUEUE_TIMEOUT')
    return new Fault('UNAVAILABLE', 'Request timeout expired', error)
  return faultOf(error)
}
