// Clients without a server, and serve(): options, and configs of a repository.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GrpcClient as TypedGrpcClient, HttpClient as TypedHttpClient } from '../../lib/client/index.js'
import { Tensor } from '../../lib/index.js'
import { defineModel as typedDefineModel, serve as typedServe } from '../../lib/serve/index.js'
import { identity } from '../support/models.js'
import { argument, type Room, wrongly } from './table.js'

const [HttpClient, GrpcClient] = [wrongly(TypedHttpClient), wrongly(TypedGrpcClient)]
const one = Tensor.zeros('float32', [1, 1])

const clients: Room = async ({ use }) => {
  const http = wrongly(use(new TypedHttpClient('http://127.0.0.1:1')))
  const grpc = wrongly(use(new TypedGrpcClient('127.0.0.1:1')))
  const closed = wrongly(new TypedHttpClient('http://127.0.0.1:1'))
  await closed.close()
  const url = 'http://localhost:8000'
  return [
    [() => new HttpClient(), argument, ['an address such as http://localhost:8000', 'undefined']],
    [
      () => new HttpClient('localhost:8000'),
      argument,
      ['an address such as http://localhost:8000', '"localhost:8000"'],
    ],
    [() => new HttpClient({ url }), argument, ['an address such as', 'Object']],
    [() => new HttpClient(8000), argument, ['an address such as', 'number 8000']],
    [() => new HttpClient('grpc://localhost:8001'), argument, ['an address such as http://localhost:8000']],
    [() => new HttpClient('http://localhost:8000/v2?x=1'), argument, ['an address such as']],
    [() => new GrpcClient('http//localhost'), argument, ['an address such as localhost:8001']],
    [() => new HttpClient(url, { timeout: 5000 }), argument, ['did you mean timeoutMs?']],
    [() => new HttpClient(url, { timeoutMs: '5s' }), argument, ['milliseconds', 'timeoutMs', '"5s"']],
    [() => new HttpClient(url, { retry: 3 }), argument, ['"retry" for HttpClient', 'retries']],
    [() => new HttpClient(url, { retries: true }), argument, ['retries', 'true']],
    [() => new HttpClient(url, { retries: { count: 3 } }), argument, ['"count"', 'times']],
    [() => new HttpClient(url, { concurrency: 8 }), argument, ['"concurrency" for HttpClient', 'maxConnections']],
    [() => new HttpClient(url, { headers: 'Authorization: x' }), argument, ['headers', 'string']],
    [() => new HttpClient(url, { headers: new Map([['a', 'b']]) }), argument, ['Object.fromEntries(headers)', 'Map']],
    [
      () => new HttpClient(url, { headers: new Headers({ a: 'b' }) }),
      argument,
      ['Object.fromEntries(headers)', 'Headers'],
    ],
    [() => new HttpClient(url, { headers: { a: undefined } }), argument, ["headers['a']", 'undefined']],
    [() => new HttpClient(url, { token: 'x' }), argument, ['"token" for HttpClient', 'headers']],
    [() => new HttpClient('https://h', { tls: { ca: '/etc/ca.pem' } }), argument, ['PEM', 'not its path', 'ca']],
    [() => new HttpClient('https://h', { tls: true }), argument, ['tls', 'true']],
    [
      () => new HttpClient(url, { tls: { rejectUnauthorized: 'no' } }),
      argument,
      ['true or false', 'rejectUnauthorized'],
    ],
    [() => http.infer(), argument, ['a non-empty string', 'model', 'undefined']],
    [() => http.infer({ model: 'm' }), argument, ['model', 'Object']],
    [() => http.infer('m'), argument, ['a value for each input', 'undefined']],
    [() => http.infer('m', one), argument, ['a value for each input', 'Tensor']],
    [() => http.infer('m', { x: [1, 2] }), argument, ["input 'x'", 'number 1']],
    [() => http.infer('m', { x: new Float32Array(1) }), argument, ['a Tensor', "input 'x'", 'Float32Array']],
    [() => http.infer('m', { x: 'text' }), argument, ["input 'x'", '"text"']],
    [() => http.infer('m', Promise.resolve({ x: one })), argument, ['a Promise: await it']],
    [() => http.infer('m', { x: Promise.resolve(one) }), argument, ["input 'x'", 'a Promise: await it']],
    [() => http.infer('m', { x: one }, { outputs: 'y' }), argument, ['outputs', '"y"']],
    [() => http.infer('m', { x: one }, { timeout: 1 }), argument, ['did you mean timeoutMs?']],
    [() => http.infer('m', { x: one }, { classification: true }), argument, ['classification', 'true']],
    [() => http.infer('m', { x: one }, { priority: 'high' }), argument, ['priority', '"high"']],
    [() => http.infer('m', { x: one }, { parameters: { timeout: 5 } }), argument, ['queueTimeoutMs']],
    [() => http.infer('m', { x: one }, { binary: true }), argument, ['"binary" for', 'encoding']],
    [() => grpc.infer('m', { x: one }, { encoding: 'json' }), argument, ['gRPC has no JSON']],
    [() => http.infer('m', { x: one }), 'ERR_TRT_SERVER', ['127.0.0.1:1']],
    [() => closed.infer('m', { x: one }), 'ERR_TRT_CLOSED', ['closed']],
    [() => http.modelMetadata(), argument, ['model', 'undefined']],
    [() => http.load('m', { config: 5 }), argument, ['config', 'number 5']],
    [() => http.load('m', { files: { 'model.onnx': 'path' } }), argument, ["files['model.onnx']", 'string']],
    [() => http.unload(), argument, ['model', 'undefined']],
    [() => grpc.stream({ class: ['y'] }), argument, ['did you mean classes?']],
  ]
}

const servers: Room = ({ folder }) => {
  let count = 0
  const serve = wrongly(typedServe)
  const defineModel = wrongly(typedDefineModel)
  const quiet = { http: { port: 0, address: '127.0.0.1' } }
  const repository = (files: Readonly<Record<string, string | Uint8Array>>): string => {
    const root = join(folder, String(count++))
    for (const [name, content] of Object.entries({ 'm/1/.keep': '', ...files })) {
      mkdirSync(dirname(join(root, name)), { recursive: true })
      writeFileSync(join(root, name), content)
    }
    return root
  }
  const of = (config: string, files: Readonly<Record<string, string | Uint8Array>> = {}): unknown =>
    serve({
      ...quiet,
      engine: { backend: 'cpu' },
      modelRepository: repository({ 'm/1/model.onnx': identity(), 'm/config.pbtxt': config, ...files }),
    })
  const server = 'ERR_TRT_SERVER'
  return [
    [() => serve(), argument, ['the options of serve', 'undefined']],
    [() => serve('models'), argument, ['the options of serve', '"models"']],
    [() => serve({}), argument, ['modelRepository', 'undefined']],
    [() => serve({ repository: 'models' }), argument, ['modelRepository is its name']],
    [() => serve({ models: 'models' }), argument, ['by model name', 'modelRepository takes folders', '"models"']],
    [() => serve({ models: ['m.onnx'] }), argument, ['by model name', 'array']],
    [() => serve({ models: {} }), argument, ['modelRepository', 'undefined']],
    [() => serve({ models: { m: 5 } }), argument, ['a path', 'models["m"]', 'number 5']],
    [() => serve({ models: { 'a/b': 'm.onnx' } }), argument, ["without '/'", 'a name in models', '"a/b"']],
    [() => serve({ models: { m: 'm.pt' } }), argument, ['.onnx, .plan', 'models["m"]', 'm.pt']],
    [
      () => serve({ models: { m: join(folder, 'none.onnx') }, ...quiet }),
      'ERR_TRT_FILE',
      ['none.onnx', 'does not exist'],
    ],
    [() => serve({ modelRepository: 5 }), argument, ['modelRepository', 'number 5']],
    [() => serve({ modelRepository: [] }), argument, ['modelRepository']],
    [() => serve({ modelRepository: join(folder, 'none'), ...quiet }), 'ERR_TRT_FILE', ['none']],
    [() => serve({ modelRepository: folder, port: 8000 }), argument, ['http: { port } is its place']],
    [() => serve({ modelRepository: folder, http: 8000 }), argument, ['http', 'number 8000']],
    [() => serve({ modelRepository: folder, http: { port: '8000' } }), argument, ['http.port', '"8000"']],
    [() => serve({ modelRepository: folder, http: { port: 99999 } }), argument, ['65535', 'http.port', '99999']],
    [() => serve({ modelRepository: folder, http: { host: 'localhost' } }), argument, ['"host" for http', 'address']],
    [() => serve({ modelRepository: folder, grpc: { port: 8000 } }), argument, ['8000', 'HTTP', 'gRPC']],
    [() => serve({ modelRepository: folder, grpc: { tls: { cert: 'a.pem' } } }), argument, ['tls', 'key']],
    [() => serve({ modelRepository: folder, metrics: 'on' }), argument, ['metrics', '"on"']],
    [() => serve({ modelRepository: folder, log: 'info' }), argument, ['log', '"info"']],
    [() => serve({ modelRepository: folder, log: { level: 'info' } }), argument, ['"level" for log', 'verbose']],
    [() => serve({ modelRepository: folder, modelControlMode: 'auto' }), argument, ["'none', 'poll', 'explicit'"]],
    [() => serve({ modelRepository: folder, loadModel: ['m'] }), argument, ["'explicit'", 'modelControlMode']],
    [() => serve({ modelRepository: folder, loadModel: 'm' }), argument, ['loadModel', '"m"']],
    [() => serve({ modelRepository: folder, device: 0 }), argument, ['"device" for serve']],
    [() => serve({ modelRepository: folder, engine: { backend: 'gpu' } }), argument, ['engine.backend', '"gpu"']],
    [() => serve({ modelRepository: folder, engine: { lanes: 2 } }), argument, ['"lanes"', 'engine']],
    [() => serve({ modelRepository: folder, engine: { tensorrt: '/opt/trt' } }), argument, ['tensorrt.library']],
    [() => serve({ modelRepository: folder, engine: { gpus: 0 } }), argument, ['gpus', 'number 0']],
    [() => serve({ modelRepository: folder, exitTimeoutSecs: -1 }), argument, ['exitTimeoutSecs', '-1']],
    [() => of('max_batch_size: "8"'), server, ['config.pbtxt, line 1', 'an integer', 'a string']],
    [() => of('max_batch: 8'), server, ['config.pbtxt', 'max_batch']],
    [() => of('{ "max_batch_size": 8 }'), server, ['config.pbtxt']],
    [() => of('name: "other"'), server, ['other']],
    [() => of('backend: "pytorch"'), server, ['pytorch']],
    [() => of('platform: "tensorflow_savedmodel"'), server, ['tensorflow_savedmodel']],
    [() => of('input [ { name: "images" data_type: TYPE_FP32 dims: [ 4 ] } ]'), server, ['images', 'x']],
    [() => of('input [ { name: "x" data_type: TYPE_FP16 dims: [ -1 ] } ]'), server, ['x', 'TYPE_FP16', 'TYPE_FP32']],
    [() => of('', { 'm/1/model.onnx': 'not onnx' }), server, ['m']],
    [() => serve({ ...quiet, modelRepository: repository({}) }), server, ['m']],
    [() => defineModel(), argument, ['undefined']],
    [() => defineModel({}), argument, ['the function execute', 'Object']],
  ]
}

export const servingRooms: readonly Room[] = [clients, servers]
