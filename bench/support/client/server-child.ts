/**
 * Our server over the repository that the first argument names, over HTTP and gRPC; tells its addresses, and ends when
 * its parent does.
 */
import { setFlagsFromString } from 'node:v8'
import { serve } from '../../../lib/serve/index.js'

// as `trt serve` has it; serve() itself leaves V8 as it is
setFlagsFromString('--no-incremental-marking')
const place = { port: 0, address: '127.0.0.1' }
const { addresses } = await serve({ modelRepository: process.argv[2] ?? '', http: place, grpc: place })
process.once('disconnect', () => process.exit())
process.send?.({ http: addresses.http?.url, grpc: `127.0.0.1:${addresses.grpc?.port}` })
