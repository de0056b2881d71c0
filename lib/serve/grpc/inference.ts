// One request for an inference, from its message to its answer: of a call of its own, or in a stream.
import { isPromise } from 'node:util/types'
import { decodeInferRequest, type InferRequest } from '../../kserve/infer-request.js'
import type { NewInferResponse } from '../../kserve/infer-response.js'
import { Fault, faultOf } from '../faults.js'
import { Attempt } from '../front/attempt.js'
import type { Slot } from '../models/servable.js'
import { responseOf } from './answer.js'
import type { CallContext, GrpcFront } from './call.js'
import { decodeLong, longInputs } from './long-contents.js'
import { receive } from './request.js'
import { grpcCodes, statusOf } from './status.js'

export class Inference extends Attempt {
  readonly #front: GrpcFront
  readonly #context: Pick<CallContext, 'account' | 'cut'>
  #request: InferRequest | undefined

  constructor(front: GrpcFront, context: Pick<CallContext, 'account' | 'cut'>) {
    super(front.parts)
    this.#front = front
    this.#context = context
  }

  /** What the client has asked, as far as its message could be read. */
  get request(): InferRequest | undefined {
    return this.#request
  }

  /**
   * What is in the account then is the answer. @throws Fault (as a rejection), of which counters and log know already
   */
  async run(message: Uint8Array): Promise<NewInferResponse> {
    try {
      const response = await this.#answer(message)
      this.bytesOut = response.rawOutputContents?.reduce((sum, { length }) => sum + length, 0) ?? 0
      this.#context.account.charge(this.bytesOut)
      this.#tell(undefined)
      return response
    } catch (error) {
      const fault = faultOf(error)
      this.#context.account.release()
      this.#tell(fault)
      throw fault
    }
  }

  async #answer(message: Uint8Array): Promise<NewInferResponse> {
    const { account, cut } = this.#context
    this.bytesIn = message.length
    account.takeUpTo(message.length)
    const request = (this.#request = decodeInferRequest(message))
    if (this.#front.isStopping)
      throw new Fault('UNAVAILABLE', 'GRPC server is shutting down and has stopped accepting new requests.')
    const servable = this.find(request.modelName, request.modelVersion === '' ? undefined : request.modelVersion)
    const leave = servable.enter()
    let slot: Slot | undefined
    try {
      const long = longInputs(request)
      const decoded =
        long.length === 0 ? undefined : await decodeLong(request.modelName, long, this.#front.worker, account)
      cut.throwIfHappened()
      const received = receive(servable, request, decoded)
      slot = received.slot
      const outputs = await this.infer(servable, received, this.#front.readTogether(), cut)
      slot.release()
      account.release()
      const answer = responseOf(servable, received.document, outputs, this.#front)
      const response = isPromise(answer) ? await answer : answer
      cut.throwIfHappened()
      return response
    } finally {
      slot?.release()
      leave()
    }
  }

  #tell(fault: Fault | undefined): void {
    const model = this.#request?.modelName ?? ''
    this.tell(model, fault === undefined ? grpcCodes.OK : statusOf(fault).code, fault, { method: 'ModelInfer', model })
  }
}
