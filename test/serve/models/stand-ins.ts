// Versions that no engine runs: they load when the test says so, and fail where it says so.
import { create } from '@bufbuild/protobuf'
import type { EngineCounters } from '../../../lib/backend/backend.js'
import { Fault } from '../../../lib/serve/faults.js'
import { ModelConfigSchema } from '../../../lib/kserve/messages/model_config_pb.js'
import type { LoadOptions, ModelEvent, ModelsSettings } from '../../../lib/serve/models/settings.js'
import type { LoadedVersion } from '../../../lib/serve/models/servable.js'
import { Models } from '../../../lib/serve/models/manager.js'
import type { WireTensor } from '../../../lib/kserve/tensor.js'

export class StandIn implements LoadedVersion {
  readonly config = create(ModelConfigSchema)
  readonly platform = 'none'
  readonly inputs = new Map<string, never>()
  readonly outputs = new Map<string, never>()
  readonly lastInference = 0
  readonly name: string
  readonly version: string
  /** How many were loaded before it. */
  readonly number: number
  inFlight = 0
  closed = false
  #closing: Promise<void> | undefined
  #onIdle: (() => void) | undefined

  constructor(name: string, version: string, number: number) {
    this.name = name
    this.version = version
    this.number = number
  }

  reserve(): never {
    throw new Error('a stand-in has no memory')
  }

  infer(): Promise<readonly WireTensor[]> {
    return Promise.reject(new Error('a stand-in runs nothing'))
  }

  counters(): EngineCounters {
    throw new Error('a stand-in counts nothing')
  }

  enter(): () => void {
    this.inFlight++
    return () => {
      if (--this.inFlight === 0) this.#onIdle?.()
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    if (this.inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.closed = true
  }
}

/** Loads stand-ins, and tells of all that it was asked for. */
export class Loads {
  readonly loaded: StandIn[] = []
  /** `NAME:VERSION` of the loads that have begun. */
  readonly begun: string[] = []
  /** The folders that they were loaded from. */
  readonly paths: string[] = []
  readonly failing = new Set<string>()
  /** Loads wait until it is opened. */
  gate: Promise<void> = Promise.resolve()
  running = 0
  mostRunning = 0

  readonly load = async ({ folder, version, signal }: LoadOptions): Promise<LoadedVersion> => {
    const key = `${folder.name}:${version}`
    this.begun.push(key)
    this.paths.push(folder.path)
    this.mostRunning = Math.max(this.mostRunning, ++this.running)
    try {
      await this.gate
      await new Promise((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
      if (this.failing.has(key)) throw new Fault('INTERNAL', `${key} is broken`)
      const standIn = new StandIn(folder.name, version, this.loaded.length)
      this.loaded.push(standIn)
      return standIn
    } finally {
      this.running--
    }
  }

  /** Shuts the gate; what it gives opens it. */
  hold(): () => void {
    let open = (): void => {}
    this.gate = new Promise((resolve) => (open = resolve))
    return open
  }

  get open(): string[] {
    return this.loaded
      .filter(({ closed }) => !closed)
      .map(({ name, version, number }) => `${name}:${version} ${number}`)
  }
}

export function settingsOf(folder: string | readonly string[], more: Partial<ModelsSettings> = {}): ModelsSettings {
  return {
    repositories: typeof folder === 'string' ? [folder] : folder,
    mode: 'explicit',
    loadModels: [],
    pollSecs: 0,
    retries: 0,
    loadThreads: 4,
    autoComplete: true,
    strictReadiness: true,
    exitOnError: true,
    allowFileOverride: false,
    engine: { backend: 'cpu' },
    onEvent: () => {},
    ...more,
  }
}

export interface Rig {
  readonly models: Models
  readonly loads: Loads
  readonly events: ModelEvent[]
}

/** Models that no engine runs, not started yet. */
export function rig(folder: string | readonly string[], more: Partial<ModelsSettings> = {}): Rig {
  const loads = new Loads()
  const events: ModelEvent[] = []
  const models = new Models(settingsOf(folder, { onEvent: (event) => void events.push(event), ...more }), loads.load)
  return { models, loads, events }
}
