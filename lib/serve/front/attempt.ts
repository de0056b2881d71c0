// One request for an inference, however it came: given to its model, and told to counters and log once it is over.
import type { Cut } from '../../base/cancellation.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { type Fault, placeOf } from '../faults.js'
import type { Servable } from '../models/servable.js'
import type { InferDocument } from '../wire/document.js'
import type { FrontEndParts, LogFields } from './options.js'
import { runModel } from './run.js'

export abstract class Attempt {
  readonly #parts: FrontEndParts
  readonly #begun = process.hrtime.bigint()
  #servable: Servable | undefined
  #reachedModel = false
  #hasResult = false
  protected bytesIn = 0
  protected bytesOut = 0

  constructor(parts: FrontEndParts) {
    this.#parts = parts
  }

  /** It was given to the model. */
  get reachedModel(): boolean {
    return this.#reachedModel
  }

  /** @throws Fault where there is no such version */
  protected find(model: string, version: string | undefined): Servable {
    return (this.#servable = this.#parts.models.snapshot.find(model, version))
  }

  /** Together with others that came with it. @throws Fault (as a rejection), or the reason of the cut */
  protected async infer(
    servable: Servable,
    { document, inputs }: { readonly document: InferDocument; readonly inputs: readonly WireTensor[] },
    together: Promise<void> | undefined,
    cut: Cut,
  ): Promise<readonly WireTensor[]> {
    if (together !== undefined) await together
    cut.throwIfHappened()
    this.#reachedModel = true
    const outputs = await runModel(servable, document, inputs, cut)
    this.#hasResult = true
    return outputs
  }

  /** @param about what the log calls the request */
  protected tell(model: string, status: number, fault: Fault | undefined, about: LogFields): void {
    const { counters, log } = this.#parts
    const durationNs = Number(process.hrtime.bigint() - this.#begun)
    const [reachedModel, hasResult] = [this.#reachedModel, this.#hasResult]
    const { bytesIn, bytesOut } = this
    const ended = { status, fault: fault?.kind, reachedModel, hasResult, durationNs, bytesIn, bytesOut }
    counters?.onInfer({ model, version: this.#servable?.version, ...ended })
    if (fault?.kind === 'INTERNAL')
      log?.error({ model, status, error: fault.message, at: placeOf(fault) }, 'inference failed')
    log?.verbose(1, { ...about, status, ms: durationNs / 1e6, error: fault?.message }, 'request')
  }
}
