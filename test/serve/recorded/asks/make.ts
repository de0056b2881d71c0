// Short ways to write a request down.
import type { Ask } from '../ask.js'

type Headers = Readonly<Record<string, string>>
export type Json = Readonly<Record<string, unknown>>

const ask = (
  name: string,
  method: string,
  path: string,
  body: Uint8Array | string = '',
  headers: Headers = {},
): Ask => ({
  name,
  method,
  path,
  headers,
  body: Buffer.from(body),
})

export const get = (path: string, headers: Headers = {}): Ask => ask(`GET ${path}`, 'GET', path, '', headers)

export const send = (
  name: string,
  method: string,
  path: string,
  body: Uint8Array | string = '',
  headers: Headers = {},
): Ask => ask(name, method, path, body, headers)

export const post = (name: string, path: string, body: Uint8Array | string | Json = '', headers: Headers = {}): Ask =>
  ask(name, 'POST', path, typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body), headers)

/** An inference; `model` may have a version: `versions/2`. */
export const infer = (name: string, model: string, body: Uint8Array | string | Json, headers: Headers = {}): Ask =>
  post(name, `/v2/models/${model.replace('/', '/versions/')}/infer`, body, headers)

/** JSON, and tensors after it. */
export const binary = (name: string, model: string, head: Json, tensors: Uint8Array, headers: Headers = {}): Ask => {
  const json = Buffer.from(JSON.stringify(head))
  return infer(name, model, Buffer.concat([json, tensors]), {
    'Inference-Header-Content-Length': String(json.length),
    ...headers,
  })
}

/** An input as JSON. */
export const input = (datatype: string, shape: readonly unknown[], data: unknown, name = 'INPUT0'): Json => ({
  name,
  datatype,
  shape,
  data,
})

/** An input whose bytes follow. */
export const inputOf = (
  datatype: string,
  shape: readonly number[],
  binary_data_size: unknown,
  name = 'INPUT0',
): Json => ({
  name,
  datatype,
  shape,
  parameters: { binary_data_size },
})

export const floats = (...values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer)
