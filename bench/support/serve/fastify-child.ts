/** A bare fastify whose route copies the body: what the library costs by itself. */
import { setFlagsFromString } from 'node:v8'
import { fastify } from 'fastify'
import { answering } from './child.js'

setFlagsFromString('--no-incremental-marking') // as ours
const app = fastify({ bodyLimit: 2 ** 26 })
app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
const memory = Buffer.alloc(2 ** 20)
app.post('/v2/models/identity/infer', (request, reply) => {
  const body = request.body as Buffer
  body.copy(memory)
  return reply
    .headers({
      'Content-Type': 'application/octet-stream',
      'Inference-Header-Content-Length': request.headers['inference-header-content-length'],
    })
    .send(memory.subarray(0, body.length))
})
await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
answering(typeof address === 'object' ? address?.port : undefined, {})
