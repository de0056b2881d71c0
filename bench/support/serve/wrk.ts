/** wrk, which asks a server as fast as it answers: from so many connections, always the same request. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from './folder.js'

export interface Post {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

const quoted = (text: string): string => JSON.stringify(text)

/** @throws Error (as a rejection) where it is not installed */
export async function checkWrk(): Promise<void> {
  const failure = await promisify(execFile)('wrk', ['--version']).then(
    () => undefined,
    (error: unknown) => error as NodeJS.ErrnoException,
  )
  // it says its version, and ends with 1
  if (failure?.code === 'ENOENT') throw new Error('wrk is not installed: the package wrk of Debian has it')
}

const scripts = new WeakMap<Post, string>()

/** Writes what wrk sends down for it; gives the file's path. */
export function scriptOf(post: Post): string {
  const written = scripts.get(post) ?? writeScript(post, `post-${++count}`)
  scripts.set(post, written)
  return written
}

let count = 0

function writeScript({ headers, body }: Post, name: string): string {
  const folder = temporaryFolder()
  const data = join(folder, `${name}.body`)
  writeFileSync(data, body)
  const script = join(folder, `${name}.lua`)
  const lines = [
    `local file = io.open(${quoted(data)}, "rb")`,
    'wrk.body = file:read("*all")',
    'file:close()',
    'wrk.method = "POST"',
    ...Object.entries(headers).map(([header, value]) => `wrk.headers[${quoted(header)}] = ${quoted(value)}`),
  ]
  writeFileSync(script, `${lines.join('\n')}\n`)
  return script
}

/**
 * Requests that were answered with 200 in a second. @throws Error (as a rejection) where any was answered otherwise, or
 * not at all
 */
export async function requestsPerSecond(
  url: string,
  script: string,
  connections: number,
  seconds: number,
): Promise<number> {
  const { count, took } = await asked(url, script, connections, seconds)
  return count / took
}

/**
 * How many requests were answered with 200, in how many seconds. @throws Error (as a rejection) where any was answered
 * otherwise, or not at all
 */
export async function asked(
  url: string,
  script: string,
  connections: number,
  seconds: number,
): Promise<{ readonly count: number; readonly took: number }> {
  const args = [
    '--threads',
    '1',
    '--connections',
    String(connections),
    '--duration',
    `${seconds}s`,
    '--timeout',
    '10s',
    '--script',
    script,
  ]
  const { stdout } = await promisify(execFile)('wrk', [...args, url])
  const failed = /Non-2xx or 3xx responses: \d+|Socket errors: .*/.exec(stdout)
  if (failed) throw new Error(`${url}: ${failed[0]}`)
  const [, count, took, unit] = /(\d+) requests in ([\d.]+)(ms|s|m),/.exec(stdout) ?? []
  if (!(Number(count) > 0)) throw new Error(`wrk had no answer: ${stdout}`)
  return { count: Number(count), took: Number(took) * ({ ms: 0.001, m: 60 }[unit ?? ''] ?? 1) }
}
