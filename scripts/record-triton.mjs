// @ts-check
// TRITON=DIR node scripts/record-triton.mjs [PART…]: asks a real Triton what test/serve/recorded has as requests (over
// HTTP and over gRPC), as configs and as ensembles, and keeps its answers there; all parts, or those that are named.
// DIR has start.sh, and in include/ the headers of triton-inference-server/core; a C++ compiler makes the backend of
// record-triton.cc.
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildLib } from './build.mjs'
import { Failure, main, root, runQuietly, say } from './support.mjs'

/** @typedef {import('../test/serve/recorded/repository.js').RecordedModel} RecordedModel */
/** @typedef {{ readonly http: number, readonly grpc: number }} Ports */

/** What the backend poses as, and the file that each has as its model. */
const backends = { tensorrt: 'model.plan', onnxruntime: 'model.onnx' }
const kept = join(root, 'test', 'serve', 'recorded')

/** An entry is a line, so that a change of one is seen as one. */
const linesOf = (/** @type {readonly unknown[]} */ entries) =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

/**
 * @param {string} triton
 * @param {string} folder
 */
async function buildBackend(triton, folder) {
  const source = join(root, 'scripts', 'record-triton.cc')
  const library = join(folder, 'backend.so')
  const flags = ['-std=c++17', '-O2', '-shared', '-fPIC', '-I', join(triton, 'include')]
  await runQuietly('c++', [...flags, source, '-o', library], { what: 'building the backend' })
  for (const name of Object.keys(backends)) {
    mkdirSync(join(folder, 'backends', name), { recursive: true })
    copyFileSync(library, join(folder, 'backends', name, `libtriton_${name}.so`))
  }
}

/**
 * Starts it with these models, and stops it when all is asked.
 *
 * @template T
 * @param {string} triton
 * @param {string} folder
 * @param {readonly RecordedModel[]} models
 * @param {(ports: Ports, log: string) => Promise<T>} ask
 */
async function withTriton(triton, folder, models, ask) {
  const repository = join(folder, 'repository')
  rmSync(repository, { recursive: true, force: true })
  for (const model of models) writeModel(repository, model)
  const script = join(folder, 'start.sh')
  writeFileSync(
    script,
    readFileSync(join(triton, 'start.sh'), 'utf8')
      .replace(/--model-repository=\S+/u, `--model-repository=${repository}`)
      .replace(/--backend-directory=\S+/u, `--backend-directory=${join(folder, 'backends')}`)
      .replace("--load-model='*'", ''),
    { mode: 0o755 },
  )
  const ports = { http: await freePort(), grpc: await freePort() }
  const loads = models.filter(({ loaded }) => loaded).map(({ name }) => `--load-model=${name}`)
  const flags = [
    `--grpc-port=${ports.grpc}`,
    '--allow-metrics=false',
    '--disable-auto-complete-config',
    '--exit-on-error=false',
  ]
  const log = openSync(join(folder, 'log'), 'w')
  const child = spawn(script, [`--http-port=${ports.http}`, ...flags, ...loads], { stdio: ['ignore', log, log] })
  try {
    await untilLive(child, ports.http, join(folder, 'log'))
    const answers = await ask(ports, join(folder, 'log'))
    if (child.exitCode !== null || child.signalCode !== null) throw new Failure('Triton ended amid what it was asked')
    return answers
  } finally {
    if (child.exitCode === null && child.kill()) await once(child, 'exit')
  }
}

/**
 * @param {string} repository
 * @param {RecordedModel} model
 */
function writeModel(repository, { name, config, versions, files }) {
  const folder = join(repository, name)
  mkdirSync(folder, { recursive: true })
  for (const version of versions) {
    mkdirSync(join(folder, version))
    for (const file of Object.values(backends)) writeFileSync(join(folder, version, file), '')
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  writeFileSync(join(folder, 'config.pbtxt'), config)
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} port
 * @param {string} log
 */
async function untilLive(child, port, log) {
  while (child.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/v2/health/live`).catch(() => undefined)
    if (answer?.ok) return
    await sleep(100)
  }
  throw new Failure(`${readFileSync(log, 'utf8')}\nTriton ended with ${child.exitCode}`)
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

/**
 * What a faulty config is told by in the log alone.
 *
 * @param {string} name
 * @param {string} log
 */
function pollFailure(name, log) {
  const reason = log.match(new RegExp(`Poll failed for model directory '${name}': (.*)"$`, 'mu'))?.[1]
  const syntax = log.match(/(?<=Error parsing text-format inference.ModelConfig: ).*/gu)?.at(-1)
  return reason === undefined ? {} : { reason: reason.startsWith('failed to read text proto') ? syntax : reason }
}

/**
 * What is asked of a Triton of its own, each part in a file of that name.
 *
 * @param {string} dist
 */
const partsIn = (dist) => {
  const from = (/** @type {string} */ file) => import(join(dist, file))
  const http = async (/** @type {Ports} */ ports, /** @type {readonly unknown[]} */ asks) => {
    const { askAll, recordOf } = await from('ask.js')
    /** @type {unknown[]} */
    const records = []
    await askAll(
      asks,
      ports.http,
      (/** @type {unknown} */ ask, /** @type {unknown} */ answers) => void records.push(recordOf(ask, answers)),
    )
    return records
  }
  const grpc = async (/** @type {Ports} */ ports, /** @type {readonly unknown[]} */ asks) => {
    const { callAll, recordOfCall } = await from('grpc/ask.js')
    /** @type {unknown[]} */
    const records = []
    await callAll(
      asks,
      ports.grpc,
      (/** @type {unknown} */ ask, /** @type {unknown} */ of) => void records.push(recordOfCall(ask, of)),
    )
    return records
  }
  const models = async () => (await from('repository.js')).models
  const ensembles = async () => (await from('ensembles/repository.js')).models
  return {
    answers: { models, ask: async (/** @type {Ports} */ ports) => http(ports, (await from('requests.js')).asks) },
    configs: { models: async () => (await from('configs.js')).configs, ask: recordConfigs(dist, 'configs.js') },
    'ensemble-answers': {
      models: ensembles,
      ask: async (/** @type {Ports} */ ports) => http(ports, (await from('ensembles/requests.js')).asks),
    },
    'ensemble-calls': {
      models: ensembles,
      ask: async (/** @type {Ports} */ ports) => grpc(ports, (await from('ensembles/requests.js')).calls),
    },
    'ensemble-configs': {
      models: async () => (await from('ensembles/configs.js')).models,
      ask: recordConfigs(dist, 'ensembles/configs.js'),
    },
    calls: { models, ask: async (/** @type {Ports} */ ports) => grpc(ports, (await from('grpc/requests.js')).calls) },
  }
}

/**
 * For each config: the answer to its load, and `/config` where it loaded.
 *
 * @param {string} dist
 * @param {string} file
 */
const recordConfigs = (dist, file) => async (/** @type {Ports} */ ports, /** @type {string} */ log) => {
  const { configs } = await import(join(dist, file))
  const { configAnswer } = await import(join(dist, 'configs.js'))
  const records = []
  for (const config of configs) {
    const answer = await configAnswer(config, ports.http)
    records.push({
      name: config.name,
      text: config.config,
      ...answer,
      ...pollFailure(config.name, readFileSync(log, 'utf8')),
    })
  }
  return records
}

await main(async () => {
  const triton = process.env['TRITON']
  if (triton === undefined) throw new Failure('expected TRITON to be a folder with start.sh and include/')
  await buildLib()
  const parts = partsIn(join(root, 'dist', 'test', 'serve', 'recorded'))
  const unknown = process.argv.slice(2).find((name) => !Object.keys(parts).includes(name))
  if (unknown) throw new Failure(`there is no part ${unknown}; there are ${Object.keys(parts).join(', ')}`)
  const folder = mkdtempSync(join(tmpdir(), 'record-triton-'))
  try {
    await buildBackend(triton, folder)
    for (const [name, { models, ask }] of Object.entries(parts)) {
      if (process.argv.length > 2 && !process.argv.includes(name)) continue
      const records = await withTriton(triton, folder, await models(), ask)
      writeFileSync(join(kept, `${name}.jsonl`), linesOf(records))
      say(`${name}: ${records.length}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
