// One request for an inference, from its head to the last byte of its answer.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cut } from '../../base/cancellation.js'
import { Fault, faultOf, placeOf } from '../faults.js'
import type { Servable } from '../models/servable.js'
import { type InferDocument, tooLarge } from '../wire/document.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { bodyOf, send, sendFault } from './answer.js'
import { clientLeft, contentLength, inferenceHeaderLength, readBody } from './body.js'
import type { Account } from '../front/budget.js'
import type { FrontEnd } from './options.js'
import { onceClosed } from './closing.js'
import { acceptedEncoding, contentEncoding } from './encodings.js'
import { Intake } from './intake.js'
import { runModel } from '../front/run.js'

/** As nginx has it: nobody is there to be answered. */
const clientClosed = 499

export class Inference {
  readonly #front: FrontEnd
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #account: Account
  readonly #cut = new Cut()
  readonly #begun = process.hrtime.bigint()
  readonly #model: string
  #servable: Servable | undefined
  #intake: Intake | undefined
  #hasLeft = false
  #reachedModel = false
  #hasResult = false
  #bytesOut = 0

  constructor(front: FrontEnd, request: IncomingMessage, response: ServerResponse, model: string) {
    this.#front = front
    this.#request = request
    this.#response = response
    this.#model = model
    this.#account = front.budget.open()
  }

  /** Never rejected: a failure is an answer. */
  async run(version: string | undefined): Promise<void> {
    const ended = this.#front.begin()
    onceClosed(this.#request, this.#response, () => {
      this.#account.release()
      ended()
      if (this.#response.writableFinished) return
      this.#hasLeft = true
      this.#cut.happen(clientLeft())
    })
    try {
      await this.#answer(version)
      this.#tell(200, undefined)
    } catch (error) {
      this.#fail(faultOf(error))
    }
  }

  async #answer(version: string | undefined): Promise<void> {
    const { headers } = this.#request
    if (this.#front.isStopping) throw new Fault('UNAVAILABLE', 'Server not ready')
    const servable = (this.#servable = this.#front.options.models.snapshot.find(this.#model, version))
    const leave = servable.enter()
    try {
      const { document, inputs } = await this.#receive(servable)
      const outputs = await this.#infer(servable, document, inputs)
      this.#hasResult = true
      this.#intake?.release()
      this.#account.release()
      const { worker, limits } = this.#front
      const body = await bodyOf(servable, document, outputs, { worker, workerBytes: limits.jsonWorkerBytes })
      this.#bytesOut = body.bytes
      if (this.#hasLeft) throw clientLeft()
      this.#account.charge(body.bytes)
      await send(this.#response, body, acceptedEncoding(headers['accept-encoding']), this.#front.isStopping)
    } finally {
      this.#intake?.release()
      leave()
    }
  }

  async #receive(servable: Servable): Promise<Intake['request']> {
    const { headers } = this.#request
    const { limits, worker, heads } = this.#front
    const encoding = contentEncoding(headers['content-encoding'])
    const sent = contentLength(headers)
    if (sent !== undefined && sent > limits.maxInputBytes)
      throw tooLarge(`the body of ${sent} bytes exceeds the maximum allowed ${limits.maxInputBytes} bytes`)
    const total = encoding === 'identity' ? sent : undefined
    this.#account.take(total ?? 0)
    const headLength = inferenceHeaderLength(headers)
    const intake = (this.#intake = new Intake({
      servable,
      account: this.#account,
      limits,
      worker,
      heads,
      headLength,
      total,
    }))
    await readBody(this.#request, encoding, intake)
    return intake.request
  }

  async #infer(
    servable: Servable,
    document: InferDocument,
    inputs: readonly WireTensor[],
  ): Promise<readonly WireTensor[]> {
    await this.#front.readTogether()
    this.#cut.throwIfHappened()
    this.#reachedModel = true
    return runModel(servable, document, inputs, this.#cut)
  }

  #fail(fault: Fault): void {
    this.#account.release()
    if (this.#hasLeft || fault.kind === 'CANCELLED' || this.#response.headersSent) {
      this.#response.destroy()
      this.#tell(clientClosed, fault)
      return
    }
    this.#tell(sendFault(this.#response, fault, this.#front.isStopping), fault)
  }

  #tell(status: number, fault: Fault | undefined): void {
    const { counters, log } = this.#front.options
    const durationNs = Number(process.hrtime.bigint() - this.#begun)
    const record = {
      model: this.#model,
      version: this.#servable?.version,
      status,
      fault: fault?.kind,
      reachedModel: this.#reachedModel,
      hasResult: this.#hasResult,
      durationNs,
      bytesIn: this.#intake?.seen ?? 0,
      bytesOut: this.#bytesOut,
    }
    counters?.onInfer(record)
    if (log === undefined) return
    if (fault?.kind === 'INTERNAL')
      log.error({ model: this.#model, status, error: fault.message, at: placeOf(fault) }, 'inference failed')
    log.verbose(
      1,
      { method: 'POST', url: this.#request.url, status, ms: durationNs / 1e6, error: fault?.message },
      'request',
    )
  }
}
