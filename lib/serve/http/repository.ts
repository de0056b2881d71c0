// The model repository extension.
import type { IncomingMessage } from 'node:http'
import { invalid } from '../faults.js'
import { isObject } from '../wire/json.js'
import { tooLarge } from '../wire/document.js'
import { contentLength, wholeBody } from './body.js'
import { contentEncoding } from './encodings.js'
import type { FrontEnd } from './options.js'
import { readLoad, readObject } from './load-body.js'

export async function index(front: FrontEnd, request: IncomingMessage): Promise<unknown> {
  return withBody(front, request, async (bytes) => {
    const { ready = false } = readObject(bytes, front.limits.jsonDepth)
    if (typeof ready !== 'boolean') throw invalid("Invalid value for 'ready': expected a boolean")
    const { models } = front.options
    await models.refresh?.()
    return models.index(ready).map(({ reason, ...entry }) => ({ ...entry, reason: reason || undefined }))
  })
}

export async function load(front: FrontEnd, request: IncomingMessage, model: string): Promise<void> {
  return withBody(front, request, async (bytes) => {
    const { jsonDepth, jsonWorkerBytes } = front.limits
    const { config, files } =
      bytes.length < jsonWorkerBytes ? readLoad(bytes, jsonDepth) : await front.worker.load(bytes, jsonDepth)
    await front.options.models.load(model, { config, files: new Map(files) })
  })
}

export async function unload(front: FrontEnd, request: IncomingMessage, model: string): Promise<void> {
  return withBody(front, request, async (bytes) => {
    const { parameters } = readObject(bytes, front.limits.jsonDepth)
    const dependents = isObject(parameters) ? (parameters['unload_dependents'] ?? false) : false
    if (typeof dependents !== 'boolean')
      throw invalid("Unable to parse 'unload_dependents': attempt to access JSON non-boolean as boolean")
    await front.options.models.unload(model, dependents)
  })
}

/** Its bytes count as in flight until the work is done. */
async function withBody<T>(front: FrontEnd, request: IncomingMessage, work: (bytes: Buffer) => Promise<T>): Promise<T> {
  const { maxInputBytes } = front.limits
  const account = front.budget.open()
  const encoding = contentEncoding(request.headers['content-encoding'])
  const limit = (bytes: number): void => {
    if (bytes > maxInputBytes) throw tooLarge(`the body has more than the maximum allowed ${maxInputBytes} bytes`)
  }
  let seen = 0
  try {
    limit(contentLength(request.headers) ?? 0)
    const bytes = await wholeBody(request, encoding, (more) => {
      limit((seen += more))
      account.take(more)
    })
    return await work(bytes)
  } finally {
    account.release()
  }
}
