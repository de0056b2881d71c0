// One request for an inference, from its message to its answer: of a call of its own, or in a stream.
import { decodeInferRequest, type InferRequest } from '../../kserve/infer-request.js'
import type { NewInferResponse } from '../../kserve/infer-response.js'
import { Fault, faultOf, placeOf } from '../faults.js'
import { runModel } from '../front/run.js'
import type { Servable } from '../models/servable.js'
import { responseOf } from './answer.js'
import type { CallContext, GrpcFront } from './call.js'
import { decodeLong, longInputs } from './long-contents.js'
import { receive, type ReceivedRequest } from './request.js'
import { grpcCodes, statusOf } from './status.js'

export class Inference {
  readonly #front: GrpcFront
  readonly #context: Pick<CallContext, 'account' | 'cut'>
  readonly #begun = process.hrtime.bigint()
  #bytesIn = 0
  #request: InferRequest | undefined
  #servable: Servable | undefined
  #received: ReceivedRequest | undefined
  #reachedModel = false
  #hasResult = false

  constructor(front: GrpcFront, context: Pick<CallContext, 'account' | 'cut'>) {
    this.#front = front
    this.#context = context
  }

  /** What the client has asked, as far as its message could be read. */
  get request(): InferRequest | undefined {
    return this.#request
  }

  /** It was given to the model. */
  get reachedModel(): boolean {
    return this.#reachedModel
  }

  /**
   * What is in the account then is the answer. @throws Fault (as a rejection), of which counters and log know already
   */
  async run(message: Uint8Array): Promise<NewInferResponse> {
    try {
      const response = await this.#answer(message)
      const bytes = response.rawOutputContents?.reduce((sum, { length }) => sum + length, 0) ?? 0
      this.#context.account.charge(bytes)
      this.#tell(undefined, bytes)
      return response
    } catch (error) {
      const fault = faultOf(error)
      this.#context.account.release()
      this.#tell(fault, 0)
      throw fault
    }
  }

  async #answer(message: Uint8Array): Promise<NewInferResponse> {
    const { account, cut } = this.#context
    this.#bytesIn = message.length
    account.takeUpTo(message.length)
    const request = (this.#request = decodeInferRequest(message))
    if (this.#front.isStopping)
      throw new Fault('UNAVAILABLE', 'GRPC server is shutting down and has stopped accepting new requests.')
    const servable = this.#front.parts.models.snapshot.find(
      request.modelName,
      request.modelVersion === '' ? undefined : request.modelVersion,
    )
    this.#servable = servable
    const leave = servable.enter()
    try {
      const long = longInputs(request)
      const decoded =
        long.length === 0 ? undefined : await decodeLong(request.modelName, long, this.#front.worker, account)
      cut.throwIfHappened()
      const received = (this.#received = receive(servable, request, decoded))
      const together = this.#front.readTogether()
      if (together !== undefined) await together
      cut.throwIfHappened()
      this.#reachedModel = true
      const outputs = await runModel(servable, received.document, received.inputs, cut)
      this.#hasResult = true
      received.slot.release()
      account.release()
      const answer = responseOf(servable, received.document, outputs, this.#front)
      const response = answer instanceof Promise ? await answer : answer
      cut.throwIfHappened()
      return response
    } finally {
      this.#received?.slot.release()
      leave()
    }
  }

  #tell(fault: Fault | undefined, bytesOut: number): void {
    const { counters, log } = this.#front.parts
    const durationNs = Number(process.hrtime.bigint() - this.#begun)
    const status = fault === undefined ? grpcCodes.OK : statusOf(fault).code
    const model = this.#request?.modelName ?? ''
    counters?.onInfer({
      model,
      version: this.#servable?.version,
      status,
      fault: fault?.kind,
      reachedModel: this.#reachedModel,
      hasResult: this.#hasResult,
      durationNs,
      bytesIn: this.#bytesIn,
      bytesOut,
    })
    if (log === undefined) return
    if (fault?.kind === 'INTERNAL')
      log.error({ model, status, error: fault.message, at: placeOf(fault) }, 'inference failed')
    log.verbose(1, { method: 'ModelInfer', model, status, ms: durationNs / 1e6, error: fault?.message }, 'request')
  }
}
