/**
 * Clients of a server that speaks KServe's protocol v2, such as `trt serve` and Triton, over HTTP and gRPC.
 * @module node-tensorrt/client
 */
export type * from './public-types.js'
export { HttpClient } from './http-client.js'
export { GrpcClient } from './grpc-client.js'
