// Models of steps that no engine runs: they answer, wait and fail as the test says.
import type { EngineCounters } from '../../../lib/backend/backend.js'
import type { Cut } from '../../../lib/base/cancellation.js'
import type { ModelConfig } from '../../../lib/kserve/messages/model_config_pb.js'
import type { WireTensor } from '../../../lib/kserve/tensor.js'
import { tensorsOf } from '../../../lib/serve/config/types.js'
import { RunCounts } from '../../../lib/serve/models/counters.js'
import { Fault } from '../../../lib/serve/faults.js'
import type { LoadOptions, ModelEvent, ModelsSettings } from '../../../lib/serve/models/settings.js'
import { Models } from '../../../lib/serve/models/manager.js'
import type { LoadedVersion, ServableRequest, ServableTensor, Slot } from '../../../lib/serve/models/servable.js'
import { Visits } from '../../../lib/serve/models/loaded-model.js'
import { settingsOf } from '../models/stand-ins.js'

/** A request that a step has. */
export interface Asked {
  readonly step: FakeStep
  readonly request: ServableRequest
  readonly cut: Cut
}

export class FakeStep implements LoadedVersion {
  readonly name: string
  readonly version: string
  readonly config: ModelConfig
  readonly platform = 'fake'
  readonly inputs: ReadonlyMap<string, ServableTensor>
  readonly outputs: ReadonlyMap<string, ServableTensor>
  readonly lastInference = 0
  readonly visits: Visits
  readonly #world: World
  isClosed = false

  constructor(world: World, { folder, version, config }: LoadOptions) {
    this.#world = world
    this.name = folder.name
    this.version = version
    this.config = config
    this.visits = new Visits(this.name, version)
    const { inputs, outputs } = tensorsOf(config, new Map())
    this.inputs = inputs
    this.outputs = outputs
  }

  get inFlight(): number {
    return this.visits.inFlight
  }

  reserve(bytes: number): Slot {
    return { bytes: new Uint8Array(bytes), release: () => {} }
  }

  async infer(request: ServableRequest, cut: Cut): Promise<readonly WireTensor[]> {
    const leave = this.visits.inside()
    try {
      return await this.#world.answer({ step: this, request, cut })
    } finally {
      leave()
    }
  }

  counters(): EngineCounters {
    return new RunCounts().counters()
  }

  enter(): () => void {
    return this.visits.enter()
  }

  async close(): Promise<void> {
    await this.visits.end()
    this.isClosed = true
  }
}

/** All that fake steps have in common. */
export class World {
  readonly loaded: FakeStep[] = []
  readonly asked: Asked[] = []
  /** Versions that do not load, as `NAME` or `NAME:VERSION`. */
  readonly broken = new Set<string>()
  /** Loads wait until it is opened. */
  gate: Promise<void> = Promise.resolve()
  /** What a step answers; without an entry the first input for each output. */
  readonly answers = new Map<string, (asked: Asked) => Promise<readonly WireTensor[]>>()

  readonly load = async (options: LoadOptions): Promise<LoadedVersion> => {
    const { name } = options.folder
    await this.gate
    if (this.broken.has(name) || this.broken.has(`${name}:${options.version}`))
      throw new Fault('INTERNAL', `${name} is broken`)
    const step = new FakeStep(this, options)
    this.loaded.push(step)
    return step
  }

  answer(asked: Asked): Promise<readonly WireTensor[]> {
    this.asked.push(asked)
    const { step, request } = asked
    return this.answers.get(step.name)?.(asked) ?? Promise.resolve(passed(request))
  }

  get open(): string[] {
    return this.loaded
      .filter(({ isClosed }) => !isClosed)
      .map(({ name, version }) => `${name}:${version}`)
      .sort()
  }
}

/** The first input as each output. */
export function passed({ inputs: [first], outputs = [] }: ServableRequest): readonly WireTensor[] {
  return outputs.map((name) => ({ ...(first as WireTensor), name }))
}

/** An answer that comes when the test gives it; as an engine it ends with its cut. */
export class Held {
  readonly asked: Asked[] = []
  readonly #waiting: ((error?: Error) => void)[] = []

  readonly answer = (asked: Asked): Promise<readonly WireTensor[]> => {
    this.asked.push(asked)
    return new Promise((resolve, reject) => {
      this.#waiting.push((error) => {
        if (error === undefined) resolve(passed(asked.request))
        else reject(error)
      })
      asked.cut.onCut(() => reject(asked.cut.reason)) // eslint-disable-line @typescript-eslint/prefer-promise-reject-errors -- whatever it is
    })
  }

  /** The one that waits longest. */
  go(error?: Error): void {
    this.#waiting.shift()?.(error)
  }
}

export interface FakeRig {
  readonly models: Models
  readonly world: World
  readonly events: ModelEvent[]
}

/** Models of fake steps and of ensembles, started. */
export async function faked(folder: string, more: Partial<ModelsSettings> = {}): Promise<FakeRig> {
  const world = new World()
  const events: ModelEvent[] = []
  const models = new Models(
    settingsOf(folder, { exitOnError: false, onEvent: (event) => void events.push(event), ...more }),
    world.load,
  )
  await models.start()
  return { models, world, events }
}
