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

/** Writes what wrk sends down for it; gives the file's path. */
export function scriptOf(name: string, { headers, body }: Post): string {
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

/** Requests that were answered with 200 in a second. @throws Error where any was answered otherwise, or not at all */
export async function requestsPerSecond(url: string, script: string, connections: number, seconds: number): Promise<number> {
  const args = ['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`, '--timeout', '10s', '--script', script]
  const { stdout } = await promisify(execFile)('wrk', [...args, url])
  const failed = /Non-2xx or 3xx responses: \d+|Socket errors: .*/.exec(stdout)
  if (failed) throw new Error(`${url}: ${failed[0]}`)
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
  if (!(rate > 0)) throw new Error(`wrk said nothing of requests a second: ${stdout}`)
  return rate
}
