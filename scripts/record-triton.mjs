// @ts-check
// TRITON=DIR node scripts/record-triton.mjs: asks a real Triton what test/serve/recorded has as requests and as configs, and keeps its answers there.
// DIR has start.sh, and in include/ the headers of triton-inference-server/core; a C++ compiler makes the backend of record-triton.cc.
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

/** What the backend poses as, and the file that each has as its model. */
const backends = { tensorrt: 'model.plan', onnxruntime: 'model.onnx' }
const kept = join(root, 'test', 'serve', 'recorded')

/** An entry is a line, so that a change of one is seen as one. */
const linesOf = (/** @type {readonly unknown[]} */ entries) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

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
 * @param {(port: number, log: string) => Promise<T>} ask
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
  const port = await freePort()
  const loads = models.filter(({ loaded }) => loaded).map(({ name }) => `--load-model=${name}`)
  const flags = ['--allow-grpc=false', '--allow-metrics=false', '--disable-auto-complete-config', '--exit-on-error=false']
  const log = openSync(join(folder, 'log'), 'w')
  const child = spawn(script, [`--http-port=${port}`, ...flags, ...loads], { stdio: ['ignore', log, log] })
  try {
    await untilLive(child, port, join(folder, 'log'))
    return await ask(port, join(folder, 'log'))
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
 * All requests, one after the other.
 *
 * @param {string} dist
 */
const recordRequests = (dist) => async (/** @type {number} */ port) => {
  const { asks } = await import(join(dist, 'requests.js'))
  const { askAll, recordOf } = await import(join(dist, 'ask.js'))
  /** @type {unknown[]} */
  const records = []
  await askAll(asks, port, (/** @type {unknown} */ ask, /** @type {unknown} */ answers) => void records.push(recordOf(ask, answers)))
  return records
}

/**
 * For each config: the answer to its load, and `/config` where it loaded.
 *
 * @param {string} dist
 */
const recordConfigs = (dist) => async (/** @type {number} */ port, /** @type {string} */ log) => {
  const { configs, configAnswer } = await import(join(dist, 'configs.js'))
  const records = []
  for (const config of configs) {
    const answer = await configAnswer(config, port)
    records.push({ name: config.name, text: config.config, ...answer, ...pollFailure(config.name, readFileSync(log, 'utf8')) })
  }
  return records
}

await main(async () => {
  const triton = process.env['TRITON']
  if (triton === undefined) throw new Failure('expected TRITON to be a folder with start.sh and include/')
  await buildLib()
  const folder = mkdtempSync(join(tmpdir(), 'record-triton-'))
  try {
    const dist = join(root, 'dist', 'test', 'serve', 'recorded')
    const { models } = await import(join(dist, 'repository.js'))
    const { configs } = await import(join(dist, 'configs.js'))
    await buildBackend(triton, folder)
    const requests = await withTriton(triton, folder, models, recordRequests(dist))
    writeFileSync(join(kept, 'answers.jsonl'), linesOf(requests))
    const answers = await withTriton(triton, folder, configs, recordConfigs(dist))
    writeFileSync(join(kept, 'configs.jsonl'), linesOf(answers))
    say(`${requests.length} requests, ${answers.length} configs`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
