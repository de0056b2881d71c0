// Servers that the suite of clients is run against.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { serve, type Server } from '../../lib/serve/index.js'
import { temporaryFolder } from '../support/folders.js'
import { freePort } from '../support/ports.js'
import { putIdentity } from '../serve/repositories.js'

/** A repository with the names of the models of a real Triton that ../shared/triton makes. */
export function repositoryOf(t: Test, isWhole = true): string {
  const folder = temporaryFolder(t)
  putIdentity(folder, 'ident')
  if (!isWhole) return folder
  putIdentity(folder, 'ident_int64', { datatype: 'INT64' })
  putIdentity(folder, 'ident_uint8', { datatype: 'UINT8' })
  putIdentity(folder, 'ident_bool', { datatype: 'BOOL' })
  putIdentity(folder, 'ident_fp16', { datatype: 'FP16' })
  putIdentity(folder, 'ident_fp64', { datatype: 'FP64' })
  putIdentity(folder, 'cls', { dims: [4], maxBatchSize: 4, labels: ['apple', 'pickle', 'banana', 'cherry'] })
  return folder
}

export async function startOurs(t: Test): Promise<Server> {
  const server = await serve({
    modelRepository: repositoryOf(t),
    http: { port: 0, address: '127.0.0.1' },
    grpc: { port: 0, address: '127.0.0.1' },
    modelControlMode: 'explicit',
    loadModel: ['*'],
  })
  t.teardown(() => server.close())
  return server
}

export interface RealTriton {
  readonly http: string
  readonly grpc: string
}

/** The one in a folder, as ../shared/triton makes it, in a process of its own. */
export async function startTriton(t: Test, folder: string): Promise<RealTriton> {
  const [http, grpc, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--http-port=${http}`, `--grpc-port=${grpc}`, `--metrics-port=${metrics}`]
  const child = spawn(join(folder, 'start.sh'), ports, { stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = `http://127.0.0.1:${http}`
  for (;;) {
    if (
      await fetch(`${url}/v2/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return { http: url, grpc: `127.0.0.1:${grpc}` }
    if (child.exitCode !== null) throw new Error(`Triton ended with ${child.exitCode}`)
    await sleep(100)
  }
}
