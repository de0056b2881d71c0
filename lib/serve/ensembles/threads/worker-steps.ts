// All models of an ensemble's steps in its thread: modules are loaded, engines are attached.
import { failuresOf } from '../../node/failed.js'
import { ModuleRunner, type ModuleStart } from '../../node/module-runner.js'
import { AttachedEngines } from './attached-engines.js'
import type { CoreStart, EnsembleStart, ModelStart } from './messages.js'
import { ModuleStep } from './module-step.js'
import type { Outbox } from './outbox.js'
import { WorkerCore, type WorkerModel } from './worker-core.js'

/** A number that no model has. */
const root = -1

export class WorkerSteps {
  readonly root: WorkerCore
  readonly #runners: readonly ModuleRunner[]
  readonly #engines: readonly AttachedEngines[]

  private constructor(core: WorkerCore, runners: readonly ModuleRunner[], engines: readonly AttachedEngines[]) {
    this.root = core
    this.#runners = runners
    this.#engines = engines
  }

  /** @throws ModuleFailure, TensorRTError (as a rejection); no engine is left open */
  static async load(
    { models, root: start }: EnsembleStart,
    modules: readonly ModuleStart[],
    outbox: Outbox,
    signal: AbortSignal,
  ): Promise<WorkerSteps> {
    const runners: ModuleRunner[] = []
    const engines: AttachedEngines[] = []
    const made: WorkerModel[] = []
    const coreOf = (core: CoreStart, model: number): WorkerCore =>
      new WorkerCore(core, core.models.map((at) => made[at] as WorkerModel), model, outbox) // prettier-ignore
    const make = async (model: ModelStart, at: number): Promise<WorkerModel> => {
      if (model.kind === 'ensemble') return { kind: 'ensemble', core: coreOf(model.core, at), devices: model.devices }
      if (model.kind === 'module')
        return {
          kind: 'module',
          step: new ModuleStep(runners[model.module] as ModuleRunner, model, at, outbox),
          devices: [],
        }
      const attached = await AttachedEngines.attach(model, at, outbox, signal)
      engines.push(attached)
      return { kind: 'engine', engines: attached, devices: attached.devices }
    }
    try {
      for (const module of modules) runners.push(await ModuleRunner.load(module, signal))
      for (const [at, model] of models.entries()) made.push(await make(model, at))
      return new WorkerSteps(coreOf(start, root), runners, engines)
    } catch (error) {
      await Promise.all(engines.map((each) => each.close()))
      throw error
    }
  }

  /** Each is asked to end, whatever the others do. @returns what went wrong */
  async close(): Promise<readonly string[]> {
    return failuresOf([...this.#runners.map((runner) => runner.unload()), ...this.#engines.map((each) => each.close())])
  }
}
