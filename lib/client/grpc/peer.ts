import { pathToFileURL } from 'node:url'
import { findPeer } from '../../base/peer.js'
import { TensorRTError } from '../../errors.js'

export type Grpc = typeof import('@grpc/grpc-js')

const peer = '@grpc/grpc-js'

/** @throws TensorRTError ERR_TRT_SERVER (as a rejection) where it is not installed */
export async function loadGrpc(find: (file: typeof peer) => string = findPeer): Promise<Grpc> {
  const path = found(find)
  try {
    const { default: grpc } = (await import(pathToFileURL(path).href)) as { readonly default: Grpc }
    return grpc
  } catch (cause) {
    throw failure(`${peer} was found at ${path} but cannot be loaded: ${(cause as Error).message}`, cause)
  }
}

function found(find: (file: typeof peer) => string): string {
  try {
    return find(peer)
  } catch (cause) {
    throw failure(`gRPC needs ${peer}. To install it: npm install ${peer}`, cause)
  }
}

function failure(why: string, cause: unknown): TensorRTError {
  return new TensorRTError('ERR_TRT_SERVER', `Cannot make a client: ${why}`, { cause, details: { missing: [peer] } })
}
