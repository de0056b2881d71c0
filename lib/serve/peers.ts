import { pathToFileURL } from 'node:url'
import { findPeer } from '../base/peer.js'
import { TensorRTError } from '../errors.js'

/** What a server needs beside this package, and for what. */
const purposes = {
  fastify: 'HTTP needs',
  '@grpc/grpc-js': 'gRPC needs',
  pino: 'the log needs',
  'prom-client': 'metrics need',
} as const

export type ServePeer = keyof typeof purposes

export type FastifyFactory = typeof import('fastify').default
export type GrpcJs = typeof import('@grpc/grpc-js')
export type PinoFactory = typeof import('pino').default
export type PromClient = typeof import('prom-client')

/**
 * Looks for all of them, so that one line has whatever is to be installed. Nothing is loaded.
 * @throws TensorRTError ERR_TRT_SERVER
 */
export function requirePeers(needed: readonly ServePeer[], find: (peer: ServePeer) => unknown = findPeer): void {
  const missing = needed.filter((peer) => !isFound(peer, find))
  if (missing.length > 0) throw missingPeers(missing)
}

function isFound(peer: ServePeer, find: (peer: ServePeer) => unknown): boolean {
  try {
    find(peer)
    return true
  } catch {
    return false
  }
}

function missingPeers(missing: readonly ServePeer[]): TensorRTError {
  const needs = missing.map((peer) => `${purposes[peer]} ${peer}`).join(', ')
  const message = `Cannot serve models: ${needs}. To install ${missing.length === 1 ? 'it' : 'them'}: npm install ${missing.join(' ')}`
  return new TensorRTError('ERR_TRT_SERVER', message, { details: { missing } })
}

interface Loaded {
  readonly fastify: FastifyFactory
  readonly '@grpc/grpc-js': GrpcJs
  readonly pino: PinoFactory
  readonly 'prom-client': PromClient
}

/** All of them are CommonJS: what they give is `default`. @throws TensorRTError ERR_TRT_SERVER (as a rejection) */
export async function loadPeer<P extends ServePeer>(peer: P): Promise<Loaded[P]> {
  requirePeers([peer])
  const path = findPeer(peer)
  try {
    return ((await import(pathToFileURL(path).href)) as { readonly default: Loaded[P] }).default
  } catch (cause) {
    const reason = (cause as Error).message
    const message = `Cannot serve models: ${peer} was found at ${path} but cannot be loaded: ${reason}`
    throw new TensorRTError('ERR_TRT_SERVER', message, { cause })
  }
}
