/** Part of bench serve: a JPEG to its label by an ensemble, beside the same calls in process, and beside a real Triton with the same steps in Python. */
import { interleaved } from '../measure.js'
import { note, row, type Row } from '../report.js'
import { about, type Context, withChild, withTriton } from './context.js'
import { tritonEnsembleRepository } from './ensemble-repositories.js'
import { pictures } from './pictures.js'
import { rate } from './rates.js'
import type { Running, RunningChild } from './servers.js'
import type { Post } from './wrk.js'

const clients = 8

/** As tritonclient sends it. */
function picturePost(jpeg: Uint8Array): Post {
  const input = { name: 'jpeg', shape: [jpeg.length], datatype: 'UINT8', parameters: { binary_data_size: jpeg.length } }
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
    ours: rate(ours, post, clients, context.seconds),
    peer: () => ours.ask<number>(`${what} in process`),
  })
  const told = `peer: the same three calls in process, 8 in flight; mean batch ${(await ours.ask<number>('mean batch')).toFixed(2)}; ${about(context)}`
  return row(`${what} JPEG to its label, 8 clients`, '/s', rates.ours, rates.peer, { of: 'ratio', sign: '>=', value: 0.85 }, told)
}

async function besideTriton(context: Context, ours: Running, triton: Running, what: string, post: Post): Promise<Row> {
  note(`${what}, ensemble and Triton …`)
  const labels = [await labelOf(ours, post), await labelOf(triton, post)]
  const rates = await interleaved(context.rounds, {
    ours: rate(ours, post, clients, context.seconds),
    peer: rate(triton, post, clients, context.seconds),
  })
  const told = `peer: Triton 2.51, the steps in Python (PIL, numpy), two instances each; labels ${labels.join(' and ')}; ${about(context)}`
  return row(`${what} JPEG to its label, beside Triton`, '/s', rates.ours, rates.peer, { of: 'ratio', sign: '>=', value: 1.5 }, told)
}

export function ensemble(context: Context): Promise<Row[]> {
  return withChild('ensemble', [], async (ours) => {
    const { vga, twelve } = await pictures()
    const posts = [
      ['VGA', picturePost(vga)],
      ['12 MP', picturePost(twelve)],
    ] as const
    const rows: Row[] = []
    for (const [what, post] of posts) rows.push(await inProcess(context, ours, what, post))
    const beside = await withTriton(
      context,
      'the same ensemble in Python',
      async (triton) => {
        const found: Row[] = []
        for (const [what, post] of posts) found.push(await besideTriton(context, ours, triton, what, post))
        return found
      },
      tritonEnsembleRepository(),
    )
    return [...rows, ...beside]
  })
}
