/** Servers in processes of their own, which all have a model `identity`: ours, a bare fastify, a real Triton. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { GraphBuilder, writeModel } from '../../../lib/onnx/index.js'
import { temporaryFolder } from './folder.js'

export interface Running {
  readonly url: string
  readonly pid: number
  /** Asks a server of ours for a figure. */
  ask<T>(question: string): Promise<T>
  stop(): Promise<void>
}

/** A repository with an ONNX Identity of floats, of any length. */
export function identityRepository(): string {
  const repository = join(temporaryFolder(), 'repository')
  mkdirSync(join(repository, 'identity', '1'), { recursive: true })
  const graph = new GraphBuilder({ name: 'identity' })
  graph.output(graph.node('Identity', [graph.input('INPUT0', 'float32', ['n'])], {}, { output: 'OUTPUT0' }), 'float32', ['n'])
  writeFileSync(join(repository, 'identity', '1', 'model.onnx'), writeModel(graph.toModel()))
  const tensor = (name: string): string => `{ name: "${name}" data_type: TYPE_FP32 dims: [ -1 ] }`
  const config = `backend: "onnxruntime" max_batch_size: 0 input [${tensor('INPUT0')}] output [${tensor('OUTPUT0')}]
parameters { key: "intra_op_thread_count" value: { string_value: "1" } }
`
  writeFileSync(join(repository, 'identity', 'config.pbtxt'), config)
  return repository
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A program of bench/support/serve, which sends `{ port }` once it listens. */
export async function startOurs(program: 'ours' | 'fastify', args: readonly string[], flags: readonly string[] = []): Promise<Running> {
  const path = fileURLToPath(new URL(`${program}-child.js`, import.meta.url))
  const child = spawn(process.execPath, [...flags, path, ...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [message] = (await once(child, 'message')) as [{ readonly port: number }]
  const ask = async <T>(question: string): Promise<T> => {
    child.send(question)
    const [answer] = (await once(child, 'message')) as [T]
    return answer
  }
  return { url: `http://127.0.0.1:${message.port}`, pid: child.pid ?? 0, ask, stop: () => ended(child) }
}

/** The Triton that ../shared/triton made in a folder, with its identity model in C++. */
export async function startTriton(folder: string): Promise<Running> {
  const [http, grpc, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--http-port=${http}`, `--grpc-port=${grpc}`, `--metrics-port=${metrics}`]
  const child = spawn(join(folder, 'start.sh'), ports, { stdio: 'ignore' })
  const url = `http://127.0.0.1:${http}`
  for (let i = 0; ; i++) {
    const ready = await fetch(`${url}/v2/models/identity/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (ready) break
    if (i === 600 || child.exitCode !== null) throw new Error(`Triton did not start with a model identity: ${folder}/start.sh`)
    await sleep(100)
  }
  return { url, pid: child.pid ?? 0, ask: () => Promise.reject(new Error('Triton answers nothing')), stop: () => ended(child) }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000)
  await once(child, 'exit')
  clearTimeout(timer)
}
