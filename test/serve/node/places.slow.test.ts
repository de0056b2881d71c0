// Where the code of a model failed: a line of the log has the places, and nothing that goes to a client has.
import t from 'tap'
import { serve } from '../../../lib/serve/index.js'
import { certain } from '../../support/waiting.js'
import { ensemble } from '../ensembles/rig.js'
import { repository } from '../models/folders.js'
import { configOf, noThreadLeft } from './rig.js'

/** Lines 3 and 6 throw; `help.js` is beside it. */
const code = `import { help } from './help.js'
const ways = {
  throw() { throw new TypeError('not today') },
  help,
  odd: () => Object.assign(new Error('an odd stack'), { stack: 7 }),
  given: () => new Error('no cat in it'),
  dies: () => (setImmediate(() => { throw new Error('too late') }), new Promise(() => {})),
}
export default {
  execute: (requests) => Promise.all(requests.map((request) => ways[request.parameters.what]())),
}`
const help = `export async function help() {
  await null
  JSON.parse('{')
}`

await t.test('in the log, and not over the wire', async (t) => {
  const broken = "export default {\n  execute() {},\n  load() {\n    throw new Error('no licence')\n  },\n}"
  const folder = repository(t, {
    'm/config.pbtxt': configOf(),
    'm/1/model.js': code,
    'm/1/help.js': help,
    ...ensemble('e', { inputs: ['x FP32 [4]'], outputs: ['z FP32 [4]'], steps: ['m(x=x -> y=z)'], maxBatch: 0 }),
    'broken/config.pbtxt': configOf(),
    'broken/1/model.js': broken,
  })
  const lines: Record<string, unknown>[] = []
  const log = { destination: { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) } }
  await using server = await serve({
    modelRepository: folder,
    http: { port: 0, address: '127.0.0.1' },
    log,
    exitOnError: false,
  })
  const url = `${server.addresses.http?.url ?? ''}/v2`
  const asked = async (
    model: string,
    what: string,
  ): Promise<{ readonly text: string; readonly logged: Record<string, unknown> | undefined }> => {
    lines.length = 0
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [4], data: [1, 2, 3, 4] }]
    const reply = await fetch(`${url}/models/${model}/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs, parameters: { what } }),
    })
    t.equal(reply.status, 500)
    const text = ((await reply.json()) as { error: string }).error
    t.notMatch(text, /:\d+:\d+/)
    return { text, logged: lines.find(({ msg }) => msg === 'inference failed') }
  }
  t.match(
    lines.filter(({ msg }) => msg === 'a model cannot be loaded'),
    [{ model: 'broken', at: /^Object\.load \(broken\/1\/model\.js:4:11\)$|^load \(broken\/1\/model\.js:4:11\)$/ }],
  )
  t.match(
    server.index().find(({ name }) => name === 'broken')?.reason,
    /load\(\) of model 'broken' failed: no licence$/,
  )
  for (const [model, before] of [
    ['m', ''],
    ['e', "in ensemble 'e', "],
  ] as const) {
    const thrown = await asked(model, 'throw')
    t.equal(thrown.text, `${before}execute() of model 'm' failed: TypeError: not today`)
    t.match(thrown.logged, { model, error: thrown.text, at: /m\/1\/model\.js:3:19\)?\n.*m\/1\/model\.js:10:/ })
    const helped = await asked(model, 'help')
    t.match(helped.logged, { at: /help \(m\/1\/help\.js:3:8\)/ })
    const given = await asked(model, 'given')
    t.equal(given.text, `${before}no cat in it`)
    t.match(given.logged, { at: /m\/1\/model\.js:6:16/ })
    const odd = await asked(model, 'odd')
    t.match([odd.text, odd.logged?.['at']], [`${before}an odd stack`, undefined])
    for (const { logged } of [thrown, helped, given])
      t.notOk(String(logged?.['at']).includes(folder), 'with the names of models')
  }
  const died = await asked('m', 'dies')
  t.equal(died.text, "instance 0 of model 'm' has ended: uncaught too late")
  t.match(died.logged, { at: /m\/1\/model\.js:7:/ })
  await certain(() => lines.some(({ level }) => level === 'warn'))
  t.match(
    lines.filter(({ level }) => level === 'warn'),
    [{ model: 'm', msg: `${died.text}; another one takes its place`, at: /m\/1\/model\.js:7:/ }],
  )
})

await t.test('no thread is left', async (t) => {
  t.ok(await noThreadLeft())
})
