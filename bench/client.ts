/**
 * The clients of node-tensorrt/client against our server (an ONNX Identity), beside undici and grpc-js with
 * proto-loader. `--rounds N`.
 */
import { parseArgs } from 'node:util'
import { GrpcClient, HttpClient, type InferenceClient } from '../lib/client/index.js'
import { Tensor } from '../lib/index.js'
import { type Asker, protoLoader, undici } from './support/client/peers.js'
import { type Asked, startAsked } from './support/client/server.js'
import { interleaved } from './support/measure.js'
import { runParts, withContext } from './support/parts.js'
import { flags, roundsOf, scaledMs } from './support/quick.js'
import { machine, note, row, type Row } from './support/report.js'
import { identityRepository } from './support/serve/repositories.js'

const options = { ...flags, rounds: { type: 'string' } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const rounds = roundsOf(6, values.rounds)
const milliseconds = scaledMs(1000)

interface Size {
  readonly what: string
  readonly elements: number
}

const small: Size = { what: '64 B', elements: 16 }
const large: Size = { what: '602 KB', elements: 150_528 }

interface Protocol {
  readonly peer: string
  readonly ours: (server: Asked) => InferenceClient
  readonly theirs: (server: Asked, elements: number) => Asker
  /** What is to be reached of the peer's requests a second. */
  readonly goals: readonly (readonly [size: Size, goal: number])[]
}

const protocols: Readonly<Record<string, Protocol>> = {
  http: {
    peer: 'undici.request with a body made beforehand',
    ours: ({ http }) => new HttpClient(http),
    theirs: ({ http }, elements) => undici(http, elements),
    goals: [
      [small, 0.6],
      [large, 0.9],
    ],
  },
  grpc: {
    peer: 'grpc-js with proto-loader',
    ours: ({ grpc }) => new GrpcClient(grpc),
    theirs: ({ grpc }, elements) => protoLoader(grpc, elements),
    goals: [
      [small, 0.9],
      [large, 1.2],
    ],
  },
}

function oursOf(client: InferenceClient, elements: number): Asker {
  const tensor = Tensor.from(Float32Array.from({ length: elements }, (_, i) => i / 8))
  const ask = async (): Promise<Float32Array> => {
    const { OUTPUT0: output } = await client.infer<{ OUTPUT0: Tensor<'float32'> }>('identity', { INPUT0: tensor })
    return output.data
  }
  return { ask, close: () => client.close() }
}

/** Requests a second of one round. */
function rate({ ask }: Asker, inFlight: number): () => Promise<number> {
  return async () => {
    const begun = performance.now()
    let answered = 0
    const worker = async (): Promise<void> => {
      while (performance.now() - begun < milliseconds) {
        await ask()
        answered++
      }
    }
    await Promise.all(Array.from({ length: inFlight }, worker))
    return (answered * 1000) / (performance.now() - begun)
  }
}

/** Both give the same numbers, or nothing is measured. */
async function checkSame(ours: Asker, theirs: Asker): Promise<void> {
  const [one, other] = [await ours.ask(), await theirs.ask()]
  if (one.length !== other.length || one.some((value, i) => value !== other[i])) throw new Error('the answers differ')
}

async function* rowsOf(
  name: string,
  { peer, ours: open, theirs: openPeer, goals }: Protocol,
  server: Asked,
): AsyncGenerator<Row> {
  for (const [{ what, elements }, value] of goals) {
    const [ours, theirs] = [oursOf(open(server), elements), openPeer(server, elements)]
    await checkSame(ours, theirs)
    for (const inFlight of [1, 8]) {
      const text = `${name}, ${what}, ${inFlight} in flight`
      note(`${text} …`)
      const rates = await interleaved(rounds, { ours: rate(ours, inFlight), peer: rate(theirs, inFlight) })
      const about = `peer: ${peer}; medians of ${rounds} rounds of ${milliseconds} ms in turns`
      yield row(text, '/s', rates.ours, rates.peer, { of: 'ratio', sign: '>=', value }, about)
    }
    await ours.close()
    await theirs.close()
  }
}

const on = machine({ peers: 'one process asks, another one answers' })
const server = await startAsked(identityRepository())
const parts = Object.fromEntries(
  Object.entries(protocols).map(([name, protocol]) => [name, (server: Asked) => rowsOf(name, protocol, server)]),
)
try {
  await runParts(withContext(parts, server), positionals, { bench: 'client', machine: on, json: values.json })
} finally {
  await server.stop()
}
