/**
 * Part of bench serve: a JPEG to its label by an ensemble, beside the same calls in process, and beside a real Triton
 * with the same steps in Python.
 */
import { interleaved } from '../measure.js'
import { note, row, type Row } from '../report.js'
import { about, type Context, withChild, withTriton } from './context.js'
import { tritonEnsembleRepository } from './ensemble-repositories.js'
import { pictures } from './pictures.js'
import { rate } from './rates.js'
import type { Running, RunningChild } from './servers.js'
import type { Post } from './wrk.js'

const clients = 8

/** Of a round: eight large pictures at once take about one. */
function secondsFor(what: string, { seconds }: Context): number {
  return what === 'VGA' ? seconds : 4 * seconds
}

/** As tritonclient sends it, to ours as one row. */
function picturePost(jpeg: Uint8Array, hasRows: boolean): Post {
  const input = {
    name: 'jpeg',
    shape: [...(hasRows ? [1] : []), jpeg.length],
    datatype: 'UINT8',
    parameters: { binary_data_size: jpeg.length },
  }
  const head = Buffer.from(JSON.stringify({ inputs: [input], outputs: [{ name: 'label' }] }))
  return {
    path: '/v2/models/classify/infer',
    headers: { 'Content-Type': 'application/octet-stream', 'Inference-Header-Content-Length': String(head.length) },
    body: Buffer.concat([head, jpeg]),
  }
}

async function labelOf({ url }: Running, { path, headers, body }: Post): Promise<string> {
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: new Uint8Array(body) })
  const { outputs, error } = (await answer.json()) as { outputs?: { data: string[] }[]; error?: string }
  if (error !== undefined) throw new Error(error)
  return outputs?.[0]?.data[0] ?? ''
}

async function inProcess(context: Context, ours: RunningChild, what: string, post: Post): Promise<Row> {
  note(`${what}, ensemble and in process …`)
  const [label, alone] = [await labelOf(ours, post), await ours.ask<string>(`${what} label`)]
  if (label !== alone) throw new Error(`the ensemble says ${label}, in process it is ${alone}`)
  const rates = await interleaved(context.rounds, {
    ours: rate(ours, post, clients, secondsFor(what, context)),
    peer: () => ours.ask<number>(`${what} in process`),
  })
  const told = `peer: the same three calls in process, 8 in flight; mean batch ${(await ours.ask<number>('mean batch')).toFixed(2)}; ${about({ ...context, seconds: secondsFor(what, context) })}`
  return row(
    `${what} JPEG to its label, 8 clients`,
    '/s',
    rates.ours,
    rates.peer,
    { of: 'ratio', sign: '>=', value: 0.85 },
    told,
  )
}

async function besideTriton(
  context: Context,
  ours: Running,
  triton: Running,
  what: string,
  jpeg: Uint8Array,
): Promise<Row> {
  note(`${what}, ensemble and Triton …`)
  const [post, theirs] = [picturePost(jpeg, true), picturePost(jpeg, false)]
  const labels = [await labelOf(ours, post), await labelOf(triton, theirs)]
  const rates = await interleaved(context.rounds, {
    ours: rate(ours, post, clients, secondsFor(what, context)),
    peer: rate(triton, theirs, clients, secondsFor(what, context)),
  })
  const told = `peer: Triton 2.51, the steps in Python (PIL, numpy), two instances each; labels ${labels.join(' and ')}; ${about({ ...context, seconds: secondsFor(what, context) })}`
  return row(
    `${what} JPEG to its label, beside Triton`,
    '/s',
    rates.ours,
    rates.peer,
    { of: 'ratio', sign: '>=', value: 1.5 },
    told,
  )
}

export function ensemble(context: Context): AsyncGenerator<Row, void> {
  return withChild('ensemble', [], async function* (ours) {
    const { vga, twelve } = await pictures()
    const jpegs = [
      ['VGA', vga],
      ['12 MP', twelve],
    ] as const
    for (const [what, jpeg] of jpegs) yield await inProcess(context, ours, what, picturePost(jpeg, true))
    yield* withTriton(
      context,
      'the same ensemble in Python',
      async function* (triton) {
        for (const [what, jpeg] of jpegs) yield await besideTriton(context, ours, triton, what, jpeg)
      },
      tritonEnsembleRepository(),
    )
  })
}
