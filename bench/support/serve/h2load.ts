/**
 * h2load, which sends the same gRPC message over HTTP/2 as fast as it is answered: so many streams at once on one
 * connection.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from './folder.js'

export interface Call {
  /** Such as /inference.GRPCInferenceService/ModelInfer. */
  readonly path: string
  /** A frame of gRPC: a byte, the length, the message. */
  readonly frame: Buffer
}

const headers = { 'content-type': 'application/grpc', te: 'trailers' } as const satisfies OutgoingHttpHeaders

export async function hasH2load(): Promise<boolean> {
  return promisify(execFile)('h2load', ['--version']).then(
    () => true,
    () => false,
  )
}

/**
 * h2load counts answers whatever gRPC says in them: one is looked at before. @throws Error (as a rejection) where it is
 * no success
 */
export async function checkCall(url: string, { path, frame }: Call): Promise<void> {
  const session = connect(url)
  try {
    const stream = session.request({ ':method': 'POST', ':path': path, ...headers })
    const trailers = once(stream, 'trailers') as Promise<[IncomingHttpHeaders]>
    stream.end(frame)
    stream.resume()
    const [{ 'grpc-status': status, 'grpc-message': message }] = await trailers
    if (status !== '0') throw new Error(`${url}${path}: gRPC status ${String(status)} ${String(message)}`)
  } finally {
    session.close()
  }
}

let files = 0

/** A round's figure: calls that were answered in a second. */
export function callRate(url: string, call: Call, streams: number, seconds: number): () => Promise<number> {
  const data = join(temporaryFolder(), `call-${++files}.frame`)
  writeFileSync(data, call.frame)
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  // windows of 1 MiB and 16 MiB: those of the server are what is measured
  const args = [
    '-t',
    '1',
    '-c',
    '1',
    '-m',
    String(streams),
    '-D',
    String(seconds),
    '-w',
    '20',
    '-W',
    '24',
    '-d',
    data,
    ...given,
  ]
  const load = async (): Promise<string> =>
    (await promisify(execFile)('h2load', [...args, `${url}${call.path}`])).stdout
  return async () => {
    const first = await load()
    // on a busy machine its time can be over before it has connected
    const stdout = /\b0 total/.test(first) ? await load() : first
    const [, succeeded, failed] = /(\d+) succeeded, (\d+) failed/.exec(stdout) ?? []
    if (!(Number(succeeded) > 0) || Number(failed) > 0) throw new Error(`h2load got no answer from ${url}: ${stdout}`)
    return Number(succeeded) / seconds
  }
}
