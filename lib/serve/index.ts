/**
 * A server of models: a repository of Triton's form behind KServe's protocol, over HTTP and gRPC.
 * @module node-tensorrt/serve
 */
import type { ServeOptions, Server } from './public-types.js'

export { defineModel } from './node/define-model.js'
export { InvalidRequestError } from './node/invalid-request.js'
export type * from './public-types.js'

/**
 * Serves the models of a repository. Fulfilled when they are loaded, and the server is ready. It listens from the
 * beginning on, and says until then that it is not ready.
 *
 * It needs the package fastify; gRPC needs @grpc/grpc-js, metrics need prom-client, and a log needs pino.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT; ERR_TRT_FILE for a repository that is no folder;
 * ERR_TRT_SERVER: a package is missing, a port is taken, or with `exitOnError` a model cannot be loaded; nothing is
 * left open
 */
export async function serve(options: ServeOptions): Promise<Server> {
  // loaded here: modules of models import this file for defineModel alone, each in a thread with a heap of its own
  const [{ checkedServeOptions }, { start }] = await Promise.all([
    import('./options.js'),
    import('./operations/start.js'),
  ])
  return await start(checkedServeOptions(options))
}
