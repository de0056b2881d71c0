import { shown, shownAs, type Shown } from '../base/shown.js'
import type { Engine } from '../engine.js'
import { TensorRTError } from '../errors.js'
import type { Opened } from './opening.js'

/** What every task has: an engine that runs its model, and an end. */
export abstract class Task<R> implements AsyncDisposable {
  /** @internal */
  protected readonly opened: Opened<R>

  /** @internal */
  protected constructor(opened: Opened<R>) {
    const given = opened as Partial<Opened<R>> | undefined
    if (given?.pipeline === undefined)
      throw new TensorRTError(
        'ERR_TRT_INVALID_ARGUMENT',
        `Expected await ${new.target.name}.load(model, options) in place of new ${new.target.name}(…): opening a model takes time`,
      )
    this.opened = opened
  }

  /** The engine that runs the model, which {@link close} closes unless it was given. */
  get engine(): Engine {
    return this.opened.pipeline.engine
  }

  /**
   * Refuses new calls, waits for those under way, and closes the engine unless it was given. A second call does no
   * harm.
   */
  async close(): Promise<void> {
    await this.opened.close()
  }

  /** Calls {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @internal What `console.log` shows. */
  [shownAs](...how: Shown): string {
    return shown(this.constructor.name, { preset: this.opened.presetName, engine: this.engine }, how)
  }
}
