/** Servers in processes of their own, which all have a model `identity`: ours, a bare fastify, a real Triton. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { note } from '../report.js'

export interface Running {
  readonly url: string
  /** Of its gRPC; empty where it has none. */
  readonly grpcUrl: string
  readonly pid: number
  stop(): Promise<void>
}

export interface RunningChild extends Running {
  /** What the program of bench/support/serve answers to such a question. */
  ask<T = void>(question: string): Promise<T>
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

interface Reply<T> {
  readonly answer: T
  readonly error?: string
}

/** A program of bench/support/serve, once it listens. */
export async function startChild(
  program: 'ours' | 'fastify' | 'batching' | 'ensemble',
  args: readonly string[],
): Promise<RunningChild> {
  const path = fileURLToPath(new URL(`${program}-child.js`, import.meta.url))
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const { port, grpc } = await messageOf<{ readonly port: number; readonly grpc?: number }>(child)
  const ask = async <T>(question: string): Promise<T> => {
    child.send({ question })
    const { answer, error } = await messageOf<Reply<T>>(child)
    if (error !== undefined) throw new Error(`${program}: ${error}`)
    return answer
  }
  const grpcUrl = grpc === undefined ? '' : `http://127.0.0.1:${grpc}`
  return { url: `http://127.0.0.1:${port}`, grpcUrl, pid: child.pid ?? 0, ask, stop: () => ended(child) }
}

/** The next message of a child. @throws Error (as a rejection) where it ends instead */
async function messageOf<T>(child: ChildProcess): Promise<T> {
  const controller = new AbortController()
  const options = { signal: controller.signal }
  const ending = once(child, 'exit', options).then(([code]) => {
    throw new Error(`a server of the bench ended with ${code}`)
  })
  try {
    const [message] = (await Promise.race([once(child, 'message', options), ending])) as [T]
    return message
  } finally {
    ending.catch(() => {})
    controller.abort()
  }
}

/**
 * The Triton that ../shared/triton made in a folder, with its identity model in C++ alone, since Python models have
 * processes of their own; and with those of another repository.
 */
export async function startTriton(folder: string, repository?: string): Promise<Running> {
  note('Triton starts …')
  const [http, grpc, metrics] = [await freePort(), await freePort(), await freePort()]
  const more = repository === undefined ? [] : [`--model-repository=${repository}`]
  const ports = [`--http-port=${http}`, `--grpc-port=${grpc}`, `--metrics-port=${metrics}`, ...more]
  const child = spawn(join(folder, 'start.sh'), ports, { stdio: 'ignore' })
  child.once('error', () => {}) // it has no exit code then
  const url = `http://127.0.0.1:${http}`
  for (let i = 0; !(await isReady(url)); i++) {
    if (i === 600 || child.exitCode !== null || child.pid === undefined)
      throw new Error(`Triton did not start with a model identity: ${folder}/start.sh`)
    await sleep(100)
  }
  await unloadOthers(url, ['identity', ...(repository === undefined ? [] : await readdir(repository))])
  return { url, grpcUrl: `http://127.0.0.1:${grpc}`, pid: child.pid ?? 0, stop: () => ended(child) }
}

function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/v2/models/identity/ready`).then(
    ({ ok }) => ok,
    () => false,
  )
}

async function unloadOthers(url: string, kept: readonly string[]): Promise<void> {
  const index = await fetch(`${url}/v2/repository/index`, { method: 'POST', body: '{"ready":true}' })
  const models = (await index.json()) as { readonly name: string }[]
  for (const { name } of models)
    if (!kept.includes(name)) await fetch(`${url}/v2/repository/models/${name}/unload`, { method: 'POST', body: '{}' })
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000)
  await once(child, 'exit')
  clearTimeout(timer)
}
