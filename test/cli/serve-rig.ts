// trt serve, in this process and as one of its own.
import { spawn } from 'node:child_process'
import Module from 'node:module'
import { join } from 'node:path'
import { packageRoot } from '../../lib/base/package.js'
import type { Session } from '../../lib/cli/session.js'
import { childEnvironment } from '../support/children.js'
import { type Ran, trt } from './rig.js'

export interface Served {
  readonly http: { readonly url: string }
  readonly grpc: { readonly url: string; readonly port: number } | undefined
  readonly metrics: { readonly url: string } | undefined
}

/** On ports that are free. */
export const anyPorts = [
  '--http-address=127.0.0.1',
  '--http-port',
  '0',
  '--grpc-address=127.0.0.1',
  '--grpc-port=0',
  '--metrics-port=0',
  '--json',
] as const

/** Runs the command in this process until `body` is done, and ends it as SIGTERM does. */
export async function serving(
  args: readonly string[],
  body: (served: Served, session: Session) => Promise<void>,
): Promise<Ran> {
  let done = Promise.resolve()
  const ran = await trt(['serve', ...args, ...anyPorts], (session) => {
    const write = session.stdout.write.bind(session.stdout)
    session.stdout.write = (text) => {
      done = body(JSON.parse(text) as Served, session).finally(() => session.interrupt('SIGTERM'))
      done.catch(() => {}) // it is told below
      return write(text)
    }
  })
  await done
  return ran
}

export interface ServeChild {
  readonly served: Served
  /** Fulfilled when a line of its log has this text. */
  readonly told: (text: string) => Promise<void>
  readonly kill: (signal: 'SIGHUP' | 'SIGTERM' | 'SIGINT' | 'SIGKILL') => void
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null; readonly stderr: string }>
}

export interface ServeChildOptions {
  /** The words before the flags. Default: `trt serve` of the checkout. */
  readonly command?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  /** Returns the process that gets the signals. Default: the process that was started. */
  readonly pidOf?: (pid: number) => number
}

/** The command as a process of its own, which has begun to serve. */
export async function serveChild(args: readonly string[], options: ServeChildOptions = {}): Promise<ServeChild> {
  const { command = [process.execPath, join(packageRoot(), 'dist/lib/cli/trt.js'), 'serve'], env } = options
  const { pidOf = (pid) => pid } = options
  // tap's hooks put NODE_OPTIONS back into whatever is spawned
  const words = ['-u', 'NODE_OPTIONS', ...command, ...args, ...anyPorts]
  const child = spawn('env', words, { env: childEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] })
  const texts = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
      for (const look of waiting) look()
    })
  const ended: ServeChild['ended'] = new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stderr: texts.stderr }))
  })
  const until = async (holds: () => boolean): Promise<void> => {
    const seen = new Promise<void>((resolve) => {
      const look = (): void => {
        if (!holds()) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
    const early = ended.then(({ stderr }) => {
      if (!holds()) throw new Error(`it has ended: ${stderr}`)
    })
    await Promise.race([seen, early])
  }
  await until(() => texts.stdout.endsWith('}\n'))
  if (texts.stdout.includes('"error"')) throw new Error(`it does not serve: ${texts.stdout}${texts.stderr}`)
  return {
    served: JSON.parse(texts.stdout) as Served,
    told: (text) => until(() => texts.stderr.includes(text)),
    kill: (signal) => {
      if (child.exitCode === null && child.signalCode === null) process.kill(pidOf(child.pid!), signal)
    },
    ended,
  }
}

interface Resolver {
  _resolveFilename: (request: string, ...rest: readonly unknown[]) => string
}

/** Runs `body` as if these packages were not installed, for whoever resolves them as require does. */
export async function withoutModules<T>(names: readonly string[], body: () => Promise<T>): Promise<T> {
  const resolver = Module as unknown as Resolver
  const { _resolveFilename: resolve } = resolver
  resolver._resolveFilename = (request, ...rest) => {
    if (names.includes(request)) throw new Error(`Cannot find module '${request}'`)
    return resolve.call(Module, request, ...rest)
  }
  try {
    return await body()
  } finally {
    resolver._resolveFilename = resolve
  }
}
