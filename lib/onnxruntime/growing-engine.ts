/**
 * Engines for the shapes that come: a model with dynamic inputs on TensorRT, where nobody said a range. As
 * onnxruntime's TensorRT provider does it, the first run's shapes are the range of the first engine, and a run beyond
 * it has a larger one built.
 */
import { setImmediate } from 'node:timers/promises'
import type { ModelTensor } from '../backend/backend.js'
import { Work } from '../base/work.js'
import { Engine } from '../engine.js'
import { infosByName, InputChecker } from '../engine/arguments.js'
import type { EngineOptions } from '../engine/options.js'
import { TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import { refused } from './errors.js'
import { covers, extrapolated, type Range, type Sizes, widened } from './ranges.js'

/** What a session runs on. */
export interface SessionEngine extends Pick<
  Engine,
  'inputs' | 'outputs' | 'inputNames' | 'outputNames' | 'unsupported' | 'backend' | 'backendReason' | 'description'
> {
  infer(inputs: Readonly<Record<string, Tensor>>, options: RunOptions): Promise<Readonly<Record<string, Tensor>>>
  close(): Promise<void>
}

interface RunOptions {
  readonly outputs: readonly string[]
  readonly into: Readonly<Record<string, Tensor>>
}

/** A model as TensorRT's parser has it. */
export interface GrowingModel {
  readonly source: string | Uint8Array
  readonly inputs: readonly ModelTensor[]
  readonly outputs: readonly ModelTensor[]
  /** The inputs whose values decide shapes. */
  readonly shapeTensors: ReadonlySet<string>
}

/** An engine, and what it is for. */
export interface Stage {
  readonly engine: Engine
  readonly range: Range
}

/** What becomes of builds. */
export interface GrowingHooks {
  /** An engine is there; `seconds` that it took, where it was built and not found in the cache. */
  readonly grown: (range: Range, seconds: number | undefined) => Promise<void>
  /** Where what TensorRT does not take runs on the CPU: opens that, and tells why. */
  readonly fallBack: ((error: TensorRTError) => Promise<Engine>) | undefined
}

/** A run that waits for an engine. */
interface Waiting {
  readonly sizes: Sizes
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** As often as an engine grows by no more than it has to; then it gets room for more of the same. */
const exactGrowths = 1
/** So many builds that fail one after the other are enough, where the CPU runs what is beyond the range. */
const mostFailures = 3

export class GrowingEngine implements SessionEngine {
  readonly inputs: Engine['inputs']
  readonly outputs: Engine['outputs']
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  readonly unsupported: Engine['unsupported'] = []
  readonly backendReason = undefined
  readonly #model: GrowingModel
  readonly #options: EngineOptions
  readonly #hooks: GrowingHooks
  readonly #checker: InputChecker
  /** The inputs that need a range. */
  readonly #ranged: readonly ModelTensor[]
  #stage: Stage | undefined
  #opening: Engine | undefined
  #cpu: Engine | undefined
  /** Sizes that no engine could be built for, and how many builds failed since the last that did not. */
  readonly #beyond = new Set<string>()
  #failures = 0
  #growths = 0
  #hasRoom = true
  #waiting: Waiting[] = []
  #serving: Promise<void> | undefined
  readonly #retiring = new Work()
  #isClosed = false

  constructor(model: GrowingModel, options: EngineOptions, hooks: GrowingHooks, first?: Stage) {
    this.#model = model
    this.#options = { ...options, backend: 'tensorrt' }
    this.#hooks = hooks
    this.#stage = first
    this.inputs = infosByName(model.inputs)
    this.outputs = infosByName(model.outputs)
    this.inputNames = model.inputs.map(({ name }) => name)
    this.outputNames = model.outputs.map(({ name }) => name)
    this.#checker = new InputChecker(this.inputs, this.inputNames)
    this.#ranged = model.inputs.filter(({ name, shape }) => shape.includes(-1) || model.shapeTensors.has(name))
  }

  /** `cpu` where not one engine could be built, and the CPU took the model. */
  get backend(): Engine['backend'] {
    return this.#stage === undefined && this.#cpu !== undefined ? 'cpu' : 'tensorrt'
  }

  get description(): string {
    return this.#stage?.engine.description ?? 'engines are built for the shapes that come'
  }

  /** @throws TensorRTError (as a rejection) as `Engine.infer`, and what the build was rejected with */
  async infer(
    inputs: Readonly<Record<string, Tensor>>,
    options: RunOptions,
  ): Promise<Readonly<Record<string, Tensor>>> {
    const sizes = this.#sizesOf(inputs)
    const now = sizes && this.#engineFor(sizes)
    if (now !== undefined) return now.infer(inputs, options)
    this.#checker.check(new Map(Object.entries(inputs)))
    // checked: none is missing
    const wanted = sizes ?? new Map<string, readonly number[]>()
    // the caller's arrays are its own again once the call has returned
    const copies = Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, tensor.clone()]))
    await this.#grownTo(wanted)
    const engine = this.#engineFor(wanted)
    if (engine === undefined) throw closed()
    return engine.infer(copies, options)
  }

  /** Runs under way end; those that wait for an engine are rejected, and its build is cut short. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#waiting.splice(0)) reject(closed())
    await this.#opening?.close()
    await this.#serving // which never rejects
    await this.#stage?.engine.close()
    await this.#cpu?.close()
    await this.#retiring.idle()
  }

  /** Nothing where an input is missing. */
  #sizesOf(inputs: Readonly<Record<string, Tensor>>): Sizes | undefined {
    const sizes = new Map<string, readonly number[]>()
    for (const { name } of this.#ranged) {
      const tensor = inputs[name]
      if (tensor === undefined) return undefined
      const isShape = this.#model.shapeTensors.has(name)
      sizes.set(name, isShape ? Array.from(tensor.data as ArrayLike<number | bigint>, Number) : tensor.shape)
    }
    return sizes
  }

  /** What runs these sizes now, if anything does. */
  #engineFor(sizes: Sizes): Engine | undefined {
    if (this.#stage !== undefined && covers(this.#stage.range, sizes)) return this.#stage.engine
    const isBeyond = this.#beyond.has(textOf(sizes)) || this.#failures >= mostFailures
    return isBeyond ? this.#cpu : undefined
  }

  #grownTo(sizes: Sizes): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closed())
      this.#waiting.push({ sizes, resolve, reject })
      this.#serving ??= this.#serveAll()
    })
  }

  async #serveAll(): Promise<void> {
    await setImmediate() // all runs of this turn have one engine
    while (this.#waiting.length > 0) await this.#serve(this.#waiting.splice(0))
    this.#serving = undefined
  }

  /** Builds one engine for all of them; where there is none, one for each that differs. */
  async #serve(runs: readonly Waiting[]): Promise<void> {
    const missing = runs.filter(({ sizes }) => this.#engineFor(sizes) === undefined)
    const groups = bySizes(missing)
    try {
      if (missing.length > 0) await this.#grow(missing.map(({ sizes }) => sizes))
    } catch (error) {
      if (groups.length > 1 && !this.#isClosed) for (const group of groups) await this.#serve(group)
      else await this.#fail(missing, error)
    }
    for (const { resolve } of runs) resolve() // of no effect where it was rejected
  }

  async #fail(runs: readonly Waiting[], error: unknown): Promise<void> {
    const failure = this.#isClosed ? closed() : await this.#fallenBack(error, runs)
    if (failure !== undefined) for (const { reject } of runs) reject(failure)
  }

  /** Has the CPU run these from now on; what is thrown to them where it does not. */
  async #fallenBack(error: unknown, runs: readonly Waiting[]): Promise<unknown> {
    const { fallBack } = this.#hooks
    if (fallBack === undefined || !(error instanceof TensorRTError) || isFinal(error)) return error
    try {
      this.#cpu ??= await fallBack(error)
    } catch (failure) {
      return failure
    }
    this.#failures++
    for (const { sizes } of runs) this.#beyond.add(textOf(sizes))
    return undefined
  }

  async #grow(sizes: readonly Sizes[]): Promise<void> {
    const old = this.#stage
    const exact = widened(old?.range, sizes)
    const roomy = this.#roomierThan(exact)
    const stage = await this.#build(roomy ?? exact).catch((error: unknown) => {
      if (roomy === undefined || this.#isClosed) throw error
      this.#hasRoom = false // the model does not go on that way
      return this.#build(exact)
    })
    this.#stage = stage
    this.#failures = 0
    if (old === undefined) return
    this.#growths++
    void this.#retiring.add(old.engine.close())
  }

  /**
   * A loop that makes its input longer step by step has an engine built for each of the first steps, and not for all.
   */
  #roomierThan(range: Range): Range | undefined {
    if (this.#stage === undefined || this.#growths < exactGrowths || !this.#hasRoom) return undefined
    const shaped = this.#ranged.map(({ name }) => name).filter((name) => !this.#model.shapeTensors.has(name))
    return extrapolated(this.#stage.range, range, shaped)
  }

  async #build(range: Range): Promise<Stage> {
    if (this.#isClosed) throw closed()
    let isBuilt = false
    const begun = performance.now()
    const onProgress = (): void => void (isBuilt = true)
    const engine = new Engine(this.#model.source, { ...this.#options, shapes: range, onProgress })
    this.#opening = engine
    try {
      await engine.ready
      await this.#hooks.grown(range, isBuilt ? (performance.now() - begun) / 1000 : undefined)
    } catch (error) {
      await engine.close()
      throw error
    } finally {
      this.#opening = undefined
    }
    return { engine, range }
  }
}

/** What is wrong with the call or the file, which no other provider makes better. */
const final: ReadonlySet<string> = new Set([
  'ERR_TRT_INVALID_ARGUMENT',
  'ERR_TRT_FILE',
  'ERR_TRT_MODEL_FORMAT',
  'ERR_TRT_NO_ONNXRUNTIME',
])

/** Whether no other provider is tried after this. */
export function isFinal({ code }: TensorRTError): boolean {
  return final.has(code)
}

function bySizes(runs: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const groups = new Map<string, Waiting[]>()
  for (const run of runs) {
    const text = textOf(run.sizes)
    groups.set(text, [...(groups.get(text) ?? []), run])
  }
  return [...groups.values()]
}

function textOf(sizes: Sizes): string {
  return JSON.stringify([...sizes])
}

function closed(): TensorRTError {
  return refused('ERR_TRT_CLOSED', 'Session already disposed.')
}
