// ModelStreamInfer: each request is answered as soon as it is done, and one that fails does not end the stream.
import { Cut } from '../../base/cancellation.js'
import type { InferParameters } from '../../kserve/infer-parameters.js'
import {
  encodeStreamInferError,
  encodeStreamInferResponse,
  type NewInferResponse,
} from '../../kserve/infer-response.js'
import type { Fault } from '../faults.js'
import type { Account } from '../front/budget.js'
import type { GrpcFront, InStream, Outgoing, OutStream } from './call.js'
import { Inference } from './inference.js'
import { statusOf } from './status.js'

/** As Triton's: models have one answer for each request. */
const isFinal: InferParameters = new Map([['triton_final_response', { kind: 'bool', value: true }]])

/** Of a stream: a client that reads no answers cannot make the server remember any number of them. */
const mostUnanswered = 1024

interface Request {
  readonly cut: Cut
  readonly account: Account
}

export class InferStream implements InStream {
  readonly #front: GrpcFront
  readonly #out: OutStream
  /** The first failure ends the stream, with its status: the client has asked for that. */
  readonly #endsWithFailure: boolean
  readonly #underWay = new Set<Request>()
  #isHalfClosed = false
  #isOver = false

  constructor(front: GrpcFront, out: OutStream) {
    this.#front = front
    this.#out = out
    this.#endsWithFailure = out.header('triton_grpc_error') === 'true'
  }

  message(bytes: Uint8Array): void {
    if (this.#isOver) return
    const request = { cut: new Cut(), account: this.#front.budget.open() }
    this.#underWay.add(request)
    if (this.#underWay.size === mostUnanswered) this.#out.holdMessages(true)
    this.#front.begin()
    void this.#answer(request, bytes)
  }

  /** Never rejected. */
  async #answer(request: Request, bytes: Uint8Array): Promise<void> {
    const inference = new Inference(this.#front, request)
    let message: Outgoing
    try {
      const response = await inference.run(bytes)
      message = encodeStreamInferResponse({ ...response, parameters: isFinal })
    } catch (error) {
      const fault = error as Fault
      if (this.#endsWithFailure) this.#fail(fault)
      message = encodeStreamInferError(fault.message === '' ? 'unknown error' : fault.message, ofFailure(inference))
      request.account.charge(message.byteLength)
    }
    if (this.#isOver) return this.#done(request)
    this.#out.send(message, () => this.#done(request))
  }

  #fail(fault: Fault): void {
    if (this.#isOver) return
    this.#out.end(statusOf(fault))
    this.over(fault)
  }

  #done(request: Request): void {
    if (!this.#underWay.delete(request)) return
    request.account.release()
    this.#front.end()
    if (this.#underWay.size === mostUnanswered - 1) this.#out.holdMessages(false)
    this.#endIfDone()
  }

  halfClosed(): void {
    this.#isHalfClosed = true
    this.#endIfDone()
  }

  #endIfDone(): void {
    if (!this.#isHalfClosed || this.#isOver || this.#underWay.size > 0) return
    this.#isOver = true
    this.#out.end()
  }

  over(reason: unknown): void {
    if (this.#isOver && this.#underWay.size === 0) return
    this.#isOver = true
    for (const { cut } of this.#underWay) cut.happen(reason)
  }
}

/** What the client knows its request by; of one that its model has failed also the model. */
function ofFailure({ request, reachedModel }: Inference): NewInferResponse {
  const id = request?.id ?? ''
  if (!reachedModel) return { modelName: '', modelVersion: '', id, outputs: [] }
  return {
    modelName: request?.modelName ?? '',
    modelVersion: request?.modelVersion ?? '',
    id,
    outputs: [],
    parameters: isFinal,
  }
}
