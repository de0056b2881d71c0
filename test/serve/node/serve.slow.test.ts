// Models in JavaScript behind a server: over HTTP, as clients see them.
import t from 'tap'
import { serve } from '../../../lib/serve/index.js'
import { noThreadLeft, writeModel } from './rig.js'

const code = `
  import { defineModel } from 'node-tensorrt/serve'
  export default defineModel({
    load: () => console.log('hello'),
    execute: (requests) => requests.map(({ inputs: { words } }) => {
      if (words.some((word) => word.length === 0)) return new Error('an empty word')
      return { lengths: { shape: [words.length, 1], data: words.map((word) => String(word.length)) } }
    }),
  })`
const config = `max_batch_size: 8 input [ { name: "words" data_type: TYPE_STRING dims: [ 1 ] } ]
  output [ { name: "lengths" data_type: TYPE_STRING dims: [ 1 ] } ]`

await t.test('metadata, config, answers, failures and statistics', async (t) => {
  const lines: string[] = []
  const log = { destination: { write: (line: string) => lines.push(line) } }
  await using server = await serve({
    modelRepository: writeModel(t, { code, config }),
    http: { port: 0, address: '127.0.0.1' },
    log,
  })
  const url = `${server.addresses.http?.url ?? ''}/v2/models/m`
  const json = async (path: string, body?: unknown): Promise<[number, unknown]> => {
    const reply = await fetch(url + path, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) })
    return [reply.status, await reply.json()]
  }
  const tensors = (name: string): unknown => [{ name, datatype: 'BYTES', shape: [-1, 1] }]
  t.same(await json(''), [
    200,
    { name: 'm', versions: ['1'], platform: 'node', inputs: tensors('words'), outputs: tensors('lengths') },
  ])
  t.match(await json('/config'), [
    200,
    { name: 'm', backend: 'node', platform: '', default_model_filename: 'model.js', max_batch_size: 8 },
  ])
  const infer = (words: readonly string[]): Promise<[number, unknown]> =>
    json('/infer', { inputs: [{ name: 'words', datatype: 'BYTES', shape: [words.length, 1], data: words }] })
  t.same(await infer(['one', 'three']), [
    200,
    {
      model_name: 'm',
      model_version: '1',
      outputs: [{ name: 'lengths', datatype: 'BYTES', shape: [2, 1], data: ['3', '5'] }],
    },
  ])
  t.same(await infer(['one', '']), [500, { error: 'an empty word' }])
  const { model_stats: statistics } = server.statistics('m')
  t.match(statistics, [
    { inference_count: 2, execution_count: 1, inference_stats: { success: { count: 1 }, fail: { count: 1 } } },
  ])
  t.ok(
    lines.some((line) => line.includes('hello')),
    'its console is in the log',
  )
})

await t.test('no thread is left', async (t) => {
  t.ok(await noThreadLeft())
})
