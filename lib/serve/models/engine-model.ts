// A version of a model on engines of this package: what answers the requests of a front-end.
import { readLabels } from '../repository/labels.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import { Fault, faultOf, invalid } from '../faults.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { countersSince, RowCounts, sumOfCounters } from './counters.js'
import type { EngineStep, PlacedRequest, PlacedTensor, SharedEngine } from './engine-steps.js'
import { type Busy, type EngineFacts, EngineTensors, requestFault, type RunOptions } from './engine-tensors.js'
import { mergingOf, type OpenEngine, openVersion, type OpenVersion } from './engines.js'
import type { LoadOptions, ModelSettings } from './settings.js'
import {
  type Checkable,
  type Checked,
  type CheckedRequest,
  checkRequest,
  clientShape,
  type RequestRules,
  type TensorRule,
} from './request-checks.js'
import type { ServableRequest, Slot } from './servable.js'
import { memoryOf, SlotPool } from './slots.js'
import { warmUp } from './warmup.js'
import type { EngineCounters } from '../../backend/backend.js'
import { Cut } from '../../base/cancellation.js'
import { type Engine, runWithCut, shareQueue, warmUpWithCut } from '../../engine.js'
import type { Tensor } from '../../tensor.js'
import { batchingOf, takesTimeout } from '../config/batching.js'
import { allOf } from '../../base/turns.js'
import { LoadedModel } from './loaded-model.js'
import { bytesOfTensor } from '../../tensor.js'

/** An engine, its lanes, and the rows that it has not answered yet. */
type BusyEngine = OpenEngine & Busy

/** By name, or the only one. */
type Tensors = Tensor | Readonly<Record<string, Tensor>>

export class EngineModel extends LoadedModel implements EngineStep {
  readonly slots: SlotPool
  readonly #tensors: EngineTensors<BusyEngine>
  /**
   * It has one input and one output: then an engine takes and gives bare tensors, which costs it less than records of
   * them.
   */
  readonly #isBare: boolean
  /** Where the model has batches and merges no requests. */
  readonly #rowCounts: RowCounts | undefined
  #before: readonly EngineCounters[] = []
  #lastInference = 0

  /**
   * Opens the engines of a version, completes its configuration, and warms it up: what it gives is ready.
   * @throws Fault, TensorRTError (as a rejection), or the reason of the signal; no engine is left open
   */
  static async load(options: LoadOptions): Promise<EngineModel> {
    const { folder, version, settings, signal } = options
    const open = await openVersion(options)
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
    super(name, version, config, labels)
    const [first] = engines
    if (first === undefined) throw invalid(`Expected an instance group for model '${name}'`)
    this.#tensors = new EngineTensors(
      engineFacts(config, this.rules, first.engine),
      engines.map((each) => ({ ...each, rows: 0 })),
    )
    this.#isBare =
      this.facts.wanted === undefined && first.engine.inputNames.length === 1 && first.engine.outputNames.length === 1
    this.#rowCounts = config.maxBatchSize > 0 && mergingOf(config) === undefined ? new RowCounts() : undefined
    this.slots = new SlotPool(memoryOf(first.engine), settings.slotBytesKept)
  }

  get lastInference(): number {
    return this.#lastInference
  }

  get pending(): number {
    return this.#tensors.engines.reduce((sum, { engine }) => sum + engine.stats().waiting, 0)
  }

  reserve(bytes: number): Slot {
    try {
      return this.slots.reserve(bytes)
    } catch (error) {
      throw faultOf(error)
    }
  }

  infer(request: ServableRequest, cut: Cut): Promise<readonly WireTensor[]> {
    return this.#inside(request, cut, (checked) =>
      this.#run(this.#tensors.leastBusy(), checked, this.#tensors.optionsOf(request), cut),
    )
  }

  inferPlaced(request: PlacedRequest, cut: Cut): Promise<readonly PlacedTensor[]> {
    return this.#inside(request, cut, (checked) => this.#tensors.runPlaced(checked, request, cut))
  }

  async #inside<T extends Checkable, Tensors>(
    request: Checked<T>,
    cut: Cut,
    run: (checked: CheckedRequest<T>) => Promise<Tensors>,
  ): Promise<Tensors> {
    const leave = this.visits.inside()
    try {
      const checked = checkRequest(this.rules, request)
      this.#lastInference = Date.now()
      const answer = await run(checked)
      this.#rowCounts?.answered(checked.rows)
      return answer
    } catch (error) {
      throw cut.happened ? error : requestFault(error, request.id)
    } finally {
      leave()
    }
  }

  get devices(): readonly number[] {
    return this.#tensors.devices
  }

  /** With {@link share}: what another thread needs to run it. */
  get facts(): EngineFacts {
    return this.#tensors.facts
  }

  /**
   * Its engines for other threads, which fill the same batches. @throws TensorRTError ERR_TRT_UNSUPPORTED on the CPU
   * where the addon does not load
   */
  share(): readonly SharedEngine[] {
    return this.#tensors.engines.map(({ engine, device }) => ({ token: shareQueue(engine), device }))
  }

  /** A request of so many rows that another thread was answered. */
  ranElsewhere(rows: number): void {
    this.#lastInference = Date.now()
    this.#rowCounts?.answered(rows)
  }

  async #run(
    busy: BusyEngine,
    checked: CheckedRequest,
    options: RunOptions | undefined,
    cut: Cut,
    run = runWithCut,
  ): Promise<readonly WireTensor[]> {
    const { rows } = checked
    const tensors = this.#modelTensors(checked)
    busy.rows += rows
    try {
      return this.#answer((await run(busy.engine, tensors, options, cut)) as Tensors)
    } finally {
      busy.rows -= rows
    }
  }

  #modelTensors({ rows, inputs }: CheckedRequest): Tensors {
    const [only] = inputs
    if (this.#isBare && only !== undefined) return this.#tensors.modelTensor(only.rule, only.tensor, rows)
    const tensors = Object.create(null) as Record<string, Tensor>
    for (const { rule, tensor } of inputs) tensors[rule.name] = this.#tensors.modelTensor(rule, tensor, rows)
    return tensors
  }

  #answer(results: Tensors): readonly WireTensor[] {
    const answer: WireTensor[] = []
    for (const [name, rule] of this.rules.outputs) {
      const tensor = this.#isBare ? (results as Tensor) : (results as Readonly<Record<string, Tensor>>)[name]
      if (tensor === undefined) continue // not wanted
      const bytes = bytesOfTensor(tensor)
      answer.push({ name, datatype: rule.datatype, shape: clientShape(this.rules, rule, tensor.shape), bytes })
    }
    return answer
  }

  counters(): EngineCounters {
    const [first, ...others] = this.#tensors.engines.map(({ engine }, i) =>
      sinceWarmup(engine.counters(), this.#before[i]),
    )
    if (first === undefined) throw new Fault('INTERNAL', `model '${this.name}' has no engine`)
    const sum = sumOfCounters([first, ...others])
    return this.#rowCounts?.applied(sum) ?? sum
  }

  async #warmUp(folder: string, settings: ModelSettings): Promise<void> {
    await warmUp({
      config: this.config,
      folder,
      rules: this.rules,
      bestShape: (input) => this.#tensors.engines[0]?.engine.inputs[input]?.profiles[0]?.opt,
      bestValues: (input) => this.#tensors.engines[0]?.engine.inputs[input]?.profileValues[0]?.opt,
      run: (inputs) => this.#runOnEach(inputs),
      onWarning: (text) => settings.onWarning?.(text),
    })
    this.#before = this.#tensors.engines.map(({ engine }) => engine.counters())
    this.#lastInference = 0
  }

  async #runOnEach(inputs: readonly WireTensor[]): Promise<void> {
    const checked = checkRequest(this.rules, { inputs })
    const runs = this.#tensors.engines.flatMap((busy) =>
      Array.from({ length: busy.lanes }, () =>
        this.#run(busy, checked, this.#tensors.optionsOf({}), new Cut(), warmUpWithCut),
      ),
    )
    await allOf(runs)
  }

  protected async end(): Promise<void> {
    await this.visits.end()
    this.slots.close()
    await Promise.all(this.#tensors.engines.map(({ engine }) => engine.close()))
  }
}

function sinceWarmup(now: EngineCounters, before: EngineCounters | undefined): EngineCounters {
  return before === undefined ? now : countersSince(now, before)
}

// What other threads are told of a model of engines.

/** Of a complete configuration, and any of the engines. */
export function engineFacts(config: ModelConfig, rules: RequestRules, engine: Engine): EngineFacts {
  const levels = batchingOf(config)?.priorities?.levels ?? 1
  const beginsWithRows = ({ name, dims, isShapeTensor }: TensorRule): boolean =>
    isShapeTensor && rules.maxBatch > 0 && engine.inputs[name]?.shape[0] === (dims[0] ?? 0) + 1
  return {
    rules,
    wanted:
      engine.outputNames.length + engine.unsupported.length > rules.outputs.size
        ? [...rules.outputs.keys()]
        : undefined,
    levels,
    takesTimeout: Array.from({ length: levels + 1 }, (_, level) => takesTimeout(config, level)),
    countsRows: [...rules.inputs.values()].filter(beginsWithRows).map(({ name }) => name),
  }
}
