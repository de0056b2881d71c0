// A request whose body is half there: it is under way until the rest is sent.
import { request } from 'node:http'
import { text } from 'node:stream/consumers'

export interface Half {
  /** Fulfilled when the server has begun with it. */
  readonly begun: Promise<void>
  /** Sends the rest, and gives the answer. */
  finish(): Promise<{ readonly status: number | undefined; readonly body: string }>
  /** Leaves; what comes of it is not looked at. */
  drop(): void
}

/** Asks the model `identity`, whose input `x` has rows of four numbers. */
export function halfRequest(url: string): Half {
  const body = JSON.stringify({ inputs: [{ name: 'x', shape: [1, 4], datatype: 'FP32', data: [1, 2, 3, 4] }] })
  const headers = { 'content-length': Buffer.byteLength(body), expect: '100-continue' }
  const asked = request(`${url}/v2/models/identity/infer`, { method: 'POST', headers })
  const answered = new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    asked.on('error', reject)
    asked.on(
      'response',
      (response) => void text(response).then((found) => resolve({ status: response.statusCode, body: found }), reject),
    )
  })
  answered.catch(() => {}) // who drops it does not want to know
  // Node answers so in the moment in which it hands the request on
  const begun = new Promise<void>((resolve, reject) => asked.once('continue', resolve).once('error', reject))
  void begun.then(() => asked.write(body.slice(0, 20)))
  asked.flushHeaders()
  return {
    begun,
    finish: () => {
      asked.end(body.slice(20))
      return answered
    },
    drop: () => void asked.destroy(),
  }
}
