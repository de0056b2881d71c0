/** Part of bench serve: NVIDIA's own client against both servers. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { interleaved } from '../measure.js'
import { note, type Row, shown } from '../report.js'
import { type Context, withTriton } from './context.js'
import { small } from './rates.js'
import type { Running } from './servers.js'

const clients = 8
const windowMs = 1000

/** As JSON it sends one number of a tensor of floats, whatever the shape is. */
const formats = { binary: small, json: 1 } as const

/** Inferences a second, as perf_analyzer finds them. @throws Error (as a rejection) where it ends with an error */
async function analyzed(program: string, { url }: Running, format: keyof typeof formats): Promise<number> {
  const args = [
    '-m',
    'identity',
    '-i',
    'http',
    '-u',
    url.replace('http://', ''),
    '--shape',
    `INPUT0:${formats[format]}`,
  ]
  const how = [
    '--concurrency-range',
    String(clients),
    '-p',
    String(windowMs),
    '-s',
    '50',
    '--input-tensor-format',
    format,
  ]
  const { stdout } = await promisify(execFile)(program, [...args, ...how, '--output-tensor-format', format])
  const found = Number(/Throughput: ([\d.]+) infer\/sec/.exec(stdout)?.[1])
  if (found > 0) return found
  throw new Error(`perf_analyzer found no throughput: ${stdout}`)
}

/**
 * It asks for metadata, configuration and statistics first: that it ends well is what counts. It takes a processor
 * itself, so its figures are lower than wrk's.
 */
export function analyzer(context: Context): AsyncGenerator<Row, void> {
  return withTriton(context, 'perf_analyzer', async function* (triton, folder) {
    const program = join(folder, 'perf_analyzer')
    for (const format of ['binary', 'json'] as const) {
      const count = formats[format]
      note(`perf_analyzer, ${format} …`)
      const rates = await interleaved(2, {
        ours: () => analyzed(program, context.ours, format),
        peer: () => analyzed(program, triton, format),
      })
      const told = `peer: Triton 2.51; ${clients} clients, windows of ${windowMs / 1000} s; medians of 2 rounds`
      const what = `perf_analyzer 2.51, ${format}, ${count === 1 ? '1 number' : `${count} numbers`}`
      yield shown(what, '/s', rates.ours, rates.peer, told)
    }
  })
}
