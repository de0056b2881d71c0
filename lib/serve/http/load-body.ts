import { invalid } from '../faults.js'
import { isObject, parseJson } from '../wire/json.js'
import type { LoadBody } from './json-messages.js'

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The body of a load. @throws Fault INVALID_ARG */
export function readLoad(bytes: Uint8Array, depth: number): LoadBody {
  const body = readObject(bytes, depth)
  const parameters = body['parameters']
  if (parameters === undefined) return { files: [] }
  if (!isObject(parameters)) throw invalid('attempt to get members for non-object')
  let config: string | undefined
  const files: [string, Uint8Array][] = []
  for (const [name, value] of Object.entries(parameters)) {
    if (typeof value !== 'string') throw invalid('attempt to access JSON non-string as string')
    if (name === 'config') config = value
    else if (name.startsWith('file:')) files.push([name.slice('file:'.length), decoded(name, value)])
    else throw invalid(`unexpected load parameter '${name}': it may be 'config' or 'file:<version>/<name>'`)
  }
  return { config, files }
}

/** An empty body is an empty object. @throws Fault INVALID_ARG */
export function readObject(bytes: Uint8Array, depth: number): Readonly<Record<string, unknown>> {
  if (bytes.length === 0) return {}
  const { plain } = parseJson(bytes, depth)
  if (isObject(plain)) return plain
  throw invalid('the body has to be a JSON object')
}

/** In memory of its own, since threads hand it over. */
function decoded(name: string, text: string): Uint8Array {
  const joined = text.replace(/[\r\n]/g, '')
  if (!base64.test(joined)) throw invalid(`'${name}' is no base64`)
  const bytes = new Uint8Array(Buffer.byteLength(joined, 'base64'))
  Buffer.from(bytes.buffer).write(joined, 'base64')
  return bytes
}
