// One request for an inference, from its head to the last byte of its answer.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cut } from '../../base/cancellation.js'
import { Fault, faultOf } from '../faults.js'
import { Attempt } from '../front/attempt.js'
import type { Servable } from '../models/servable.js'
import { tooLarge } from '../wire/document.js'
import { bodyOf, send, sendFault } from './answer.js'
import { clientLeft, contentLength, inferenceHeaderLength, readBody } from './body.js'
import type { Account } from '../front/budget.js'
import type { FrontEnd } from './options.js'
import { onceClosed } from './closing.js'
import { acceptedEncoding, contentEncoding } from './encodings.js'
import { Intake } from './intake.js'

/** As nginx has it: nobody is there to be answered. */
const clientClosed = 499

export class Inference extends Attempt {
  readonly #front: FrontEnd
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #account: Account
  readonly #cut = new Cut()
  readonly #model: string
  #intake: Intake | undefined
  #hasLeft = false

  constructor(front: FrontEnd, request: IncomingMessage, response: ServerResponse, model: string) {
    super(front.options)
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
    const servable = this.find(this.#model, version)
    const leave = servable.enter()
    try {
      const received = await this.#receive(servable)
      const outputs = await this.infer(servable, received, this.#front.readTogether(), this.#cut)
      this.#intake?.release()
      this.#account.release()
      const { worker, limits } = this.#front
      const body = await bodyOf(servable, received.document, outputs, { worker, workerBytes: limits.jsonWorkerBytes })
      this.bytesOut = body.bytes
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
    this.bytesIn = this.#intake?.seen ?? 0
    this.tell(this.#model, status, fault, { method: 'POST', url: this.#request.url })
  }
}
