import type { ServeLog } from '../front/log.js'
import type { ModelEvent } from '../models/settings.js'

/** What happened to models, as lines of the log; loads that ended are remembered by their time. */
export class ModelEvents {
  readonly #log: ServeLog
  readonly #seconds = new Map<string, number>()
  readonly #onGone: (model: string, version: string | undefined) => void

  /** `onGone` is called when a version was unloaded; without a version all are. */
  constructor(log: ServeLog, onGone: (model: string, version: string | undefined) => void) {
    this.#log = log
    this.#onGone = onGone
  }

  /** How long the version took to load; nothing where that is not known. */
  loadSeconds({ name, version }: { readonly name: string; readonly version: string }): number | undefined {
    return this.#seconds.get(`${name}/${version}`) ?? this.#seconds.get(name)
  }

  take(event: ModelEvent): void {
    this.#remember(event)
    this.#tell(event)
  }

  #remember({ what, model, version, durationMs }: ModelEvent): void {
    const key = version === undefined ? model : `${model}/${version}`
    if (what === 'loaded' && durationMs !== undefined) this.#seconds.set(key, durationMs / 1000)
    if (what !== 'unloaded') return
    this.#seconds.delete(key)
    this.#onGone(model, version)
  }

  #tell({ what, model, version, text, at, durationMs, instance, stream }: ModelEvent): void {
    const fields = { model, version, at, ms: durationMs === undefined ? undefined : Math.round(durationMs) }
    if (what === 'failed') this.#log.error({ ...fields, error: text }, 'a model cannot be loaded')
    else if (what === 'broken') this.#log.error({ ...fields, error: text }, 'a model answers no more requests')
    else if (what === 'output') this.#log.info({ ...fields, instance, stream }, text ?? '')
    else if (what === 'warning') this.#log.warn(fields, text ?? '')
    else if (what === 'loaded') this.#log.info(fields, 'a model is loaded')
    else if (what === 'unloaded') this.#log.info(fields, 'a model is unloaded')
    else this.#log.verbose(1, fields, what === 'loading' ? 'a model is being loaded' : 'a model is being unloaded')
  }
}
