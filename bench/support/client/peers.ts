/**
 * Other ways to ask a server: undici with a body made beforehand, and grpc-js with proto-loader, as NVIDIA's sample for
 * Node does it.
 */
import { join } from 'node:path'
import grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { Agent, request } from 'undici'
import { packageRoot } from '../../../lib/base/package.js'
import { binaryPost } from '../serve/requests.js'

/** Asks once, and looks at the numbers. */
export interface Asker {
  readonly ask: () => Promise<Float32Array>
  close(): Promise<void> | void
}

export function undici(url: string, elements: number): Asker {
  const { path, headers, body } = binaryPost(elements)
  const dispatcher = new Agent()
  const ask = async (): Promise<Float32Array> => {
    const answer = await request(`${url}${path}`, { method: 'POST', headers, body, dispatcher })
    const head = Number(answer.headers['inference-header-content-length'])
    return floats(new Uint8Array(await answer.body.arrayBuffer()).subarray(head))
  }
  return { ask, close: () => dispatcher.close() }
}

interface SampleAnswer {
  readonly raw_output_contents: readonly Buffer[]
}

type Sample = grpc.Client & {
  ModelInfer(message: object, done: (error: grpc.ServiceError | null, answer?: SampleAnswer) => void): void
}

export function protoLoader(address: string, elements: number): Asker {
  const folder = join(packageRoot(), 'lib', 'kserve', 'messages')
  const options = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true, includeDirs: [folder] }
  const definition = grpc.loadPackageDefinition(loadSync('grpc_service.proto', options)) as unknown as {
    readonly inference: {
      readonly GRPCInferenceService: new (address: string, credentials: grpc.ChannelCredentials) => Sample
    }
  }
  const client = new definition.inference.GRPCInferenceService(address, grpc.credentials.createInsecure())
  const tensor = Buffer.from(Float32Array.from({ length: elements }, (_, i) => i / 8).buffer)
  const message = {
    model_name: 'identity',
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [elements] }],
    outputs: [{ name: 'OUTPUT0' }],
    raw_input_contents: [tensor],
  }
  const ask = (): Promise<Float32Array> =>
    new Promise((resolve, reject) => {
      client.ModelInfer(message, (error, answer) => {
        if (error) reject(error)
        else resolve(floats(answer?.raw_output_contents[0] ?? new Uint8Array()))
      })
    })
  return { ask, close: () => client.close() }
}

/** A view where it may begin there, else a copy: what a program does with the bytes. */
function floats(bytes: Uint8Array): Float32Array {
  const { buffer, byteOffset, length } = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes)
  return new Float32Array(buffer, byteOffset, length / 4)
}
