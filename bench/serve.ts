/**
 * The server beside a real Triton (TRITON=DIR of ../shared/triton; left out without) and a bare fastify, asked by wrk,
 * and by h2load over gRPC. Names of parts: those alone (`budget`: processor time by part); `--rounds N`, `--quick`.
 */
import { parseArgs } from 'node:util'
import { onnxruntimeVersion } from './support/peers.js'
import { machine, print, type Row } from './support/report.js'
import { analyzer } from './support/serve/analyzer.js'
import { batching, eventLoop, json, memory } from './support/serve/behaviour.js'
import { budget } from './support/serve/budget.js'
import type { Context } from './support/serve/context.js'
import { ensemble } from './support/serve/ensemble.js'
import { grpc } from './support/serve/grpc.js'
import { cancelling, fastify, triton } from './support/serve/rates.js'
import { identityRepository } from './support/serve/repositories.js'
import { startChild } from './support/serve/servers.js'
import { checkWrk } from './support/serve/wrk.js'

const { values, positionals } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
  },
  allowPositionals: true,
})
const rounds = Number(values.rounds ?? (values.quick ? 2 : 6))
if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds is a whole number from 1, not ${values.rounds}`)

const parts = { triton, grpc, fastify, cancelling, batching, ensemble, eventLoop, json, memory, analyzer, budget }
const unknown = positionals.find((name) => !Object.hasOwn(parts, name))
if (unknown !== undefined) throw new Error(`serve has no part ${unknown}; its parts: ${Object.keys(parts).join(', ')}`)
await checkWrk()

const repository = identityRepository()
const on = machine({ peers: `wrk and h2load ask, from one thread; ${onnxruntimeVersion()} runs the model` })
const ours = await startChild('ours', [repository])
const context: Context = { ours, repository, triton: process.env['TRITON'], rounds, seconds: 1, quick: values.quick }
const rows: Row[] = []
try {
  for (const [name, part] of Object.entries(parts)) {
    if (positionals.length === 0 || positionals.includes(name)) rows.push(...(await part(context)))
  }
} finally {
  await ours.stop()
}
print({ bench: 'serve', date: new Date().toISOString(), machine: on, rows }, values.json)
