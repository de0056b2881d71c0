/**
 * The server beside a real Triton (TRITON=DIR of ../shared/triton; left out without) and a bare fastify, asked by wrk,
 * and by h2load over gRPC. The part `budget` is processor time by part; `--rounds N`.
 */
import { parseArgs } from 'node:util'
import { runParts, withContext } from './support/parts.js'
import { onnxruntimeVersion } from './support/peers.js'
import { flags, isQuick, roundsOf } from './support/quick.js'
import { machine } from './support/report.js'
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

const options = { ...flags, rounds: { type: 'string' } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const rounds = roundsOf(6, values.rounds)

const parts = { triton, grpc, fastify, cancelling, batching, ensemble, eventLoop, json, memory, analyzer, budget }
await checkWrk()

const repository = identityRepository()
const on = machine({ peers: `wrk and h2load ask, from one thread; ${onnxruntimeVersion()} runs the model` })
const ours = await startChild('ours', [repository])
const context: Context = { ours, repository, triton: process.env['TRITON'], rounds, seconds: 1, quick: isQuick }
try {
  await runParts(withContext(parts, context), positionals, { bench: 'serve', machine: on, json: values.json })
} finally {
  await ours.stop()
}
