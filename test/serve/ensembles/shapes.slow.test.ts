// Between models with batches and models without; texts; labels; requests while steps are replaced; what a load may
// bring.
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { shapeFor } from '../../../lib/serve/ensembles/run.js'
import { configJson } from '../../../lib/serve/config/json.js'
import { failureOf } from '../../support/errors.js'
import { type Files, repository, wire, write } from '../models/folders.js'
import { faked } from './fake-steps.js'
import { ask, ensemble, row, tensorText } from './rig.js'

const model = (name: string, dims: string, maxBatch: number, type = 'FP32', more = ''): Files => ({
  [`${name}/1/model.onnx`]: String(Math.random()),
  [`${name}/config.pbtxt`]: `backend: "onnxruntime" max_batch_size: ${maxBatch} ${tensorText('input', `x ${type} [${dims}]`)} ${tensorText('output', `y ${type} [${dims}]`)} ${more}`,
})
const chain = (...models: readonly string[]): string[] =>
  models.map((name, i) => `${name}(x=${i === 0 ? 'I' : `m${i - 1}`} -> y=${i === models.length - 1 ? 'O' : `m${i}`})`)

t.test('rows that one side has and the other has not, as in Triton', (t) => {
  const to = (dims: readonly number[], hasRows: boolean) => ({ dims, hasRows })
  t.same(shapeFor([2, 3], 2, to([3], true)), [2, 3])
  t.same(shapeFor([3], 0, to([3], false)), [3])
  t.same(shapeFor([3], 0, to([3], true)), [1, 3], 'a row is put before it')
  t.same(shapeFor([5, 3], 0, to([3], true)), [5, 3], 'it is a batch already')
  t.same(shapeFor([1, 3], 1, to([3], false)), [3], 'the row is taken away')
  t.same(shapeFor([1, 3], 1, to([-1, 3], false)), [1, 3], 'it fits as it is')
  t.same(shapeFor([2, 3], 2, to([3], false)), [2, 3], 'which the model will refuse')
  t.end()
})

await t.test('steps with batches and without', async (t) => {
  const tensors = { inputs: ['I FP32 [3]'], outputs: ['O FP32 [3]'] }
  const folder = repository(t, {
    ...model('many', '3', 8),
    ...model('one', '3', 0),
    ...model('rows', '-1,3', 0),
    ...ensemble('mixed', { ...tensors, steps: chain('many', 'rows', 'many') }),
    ...ensemble('narrow', { ...tensors, steps: chain('many', 'one', 'many') }),
    ...ensemble('plain', { ...tensors, maxBatch: 0, steps: chain('one', 'many', 'one') }),
  })
  const { models, world } = await faked(folder, { mode: 'none' })
  const shapes = (): unknown => world.asked.splice(0).map(({ request }) => request.inputs[0]?.shape)
  t.same(await ask(models, 'mixed', [wire('I', [1, 2, 3, 4, 5, 6], [2, 3])]), { O: [1, 2, 3, 4, 5, 6] })
  t.same(shapes(), [[2, 3], [2, 3], [2, 3]]) // prettier-ignore
  await ask(models, 'narrow', [row('I', 1, 2, 3)])
  t.same(shapes(), [[1, 3], [3], [1, 3]]) // prettier-ignore
  const answer = await models.snapshot.find('plain').infer({ inputs: [wire('I', [1, 2, 3], [3])] }, new Cut())
  t.same(shapes(), [[3], [1, 3], [3]]) // prettier-ignore
  t.same(answer[0]?.shape, [3])
  t.equal(models.snapshot.find('mixed').counters().rows, 2)
  await models.close()
})

await t.test('reshape of the ensemble, texts, what /config has, no instance group', async (t) => {
  const folder = repository(t, {
    ...model('texts', '1', 8, 'STRING'),
    ...model('flat', '4', 8),
    ...ensemble('t', { inputs: ['I STRING [1]'], outputs: ['O STRING [1]'], steps: chain('texts', 'texts') }),
    ...ensemble('r', { inputs: ['I FP32 [4]'], outputs: ['O FP32 [4]'], steps: chain('flat') }),
  })
  const square = 'dims: [ 2, 2 ] reshape { shape: [ 4 ] }'
  const { readFileSync } = await import('node:fs')
  const text = readFileSync(`${folder}/r/config.pbtxt`, 'utf8')
  write(folder, { 'r/config.pbtxt': text.replaceAll('dims: [ 4 ]', square) })
  const { models } = await faked(folder, { mode: 'none' })
  const bytes = Uint8Array.of(2, 0, 0, 0, 104, 105)
  const [said] = await models.snapshot
    .find('t')
    .infer({ inputs: [{ name: 'I', datatype: 'BYTES', shape: [1, 1], bytes }] }, new Cut())
  t.match(said, { name: 'O', datatype: 'BYTES', shape: [1, 1] })
  t.equal(said?.bytes, bytes, 'not copied')
  const [turned] = await models.snapshot.find('r').infer({ inputs: [wire('I', [1, 2, 3, 4], [1, 2, 2])] }, new Cut())
  t.same(turned?.shape, [1, 2, 2])
  const config = configJson(models.snapshot.find('t').config)
  t.match(config, {
    name: 't',
    platform: 'ensemble',
    backend: '',
    max_batch_size: 4,
    instance_group: [],
    version_policy: { latest: { num_versions: 1 } },
  })
  t.match(config['ensemble_scheduling'], {
    step: [{ model_name: 'texts', model_version: -1, input_map: { x: 'I' } }, {}],
  })
  t.equal('optimization' in config, false)
  t.equal(models.snapshot.find('t').platform, 'ensemble')
  await models.close()
})

await t.test('requests while each step is replaced again and again: none is lost', async (t) => {
  const files = (): Files => ({ ...model('a', '3', 8), ...model('b', '3', 8) })
  const folder = repository(t, {
    ...files(),
    ...ensemble('e', { inputs: ['I FP32 [3]'], outputs: ['O FP32 [3]'], steps: chain('a', 'b', 'a') }),
  })
  const { models, world } = await faked(folder, { loadModels: ['e'] })
  world.answers.set('a', async ({ request: { inputs, outputs = [] } }) => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    return outputs.map((name) => ({ ...(inputs[0] as (typeof inputs)[0]), name }))
  })
  let isOver = false
  let answered = 0
  const client = async (value: number): Promise<void> => {
    while (!isOver) {
      const answer = await ask(models, 'e', [row('I', value, 0, 0)])
      if (answer['O']?.[0] === value) answered++
      else throw new Error('a wrong answer')
    }
  }
  const clients = [1, 2, 3, 4].map(client)
  for (let i = 0; i < 10; i++) {
    write(folder, files())
    await Promise.all([models.load('a'), models.load('b'), i % 3 === 0 ? models.load('e') : undefined])
  }
  isOver = true
  await Promise.all(clients)
  t.ok(answered > 0)
  t.equal(models.snapshot.find('e').counters().requests, answered)
  t.equal(world.loaded.length, 22)
  await models.close()
  t.same(world.open, [])
})

await t.test('no load brings a module of JavaScript, whatever the flag says', async (t) => {
  const { models } = await faked(repository(t, model('a', '3', 8)), { allowFileOverride: true })
  const bring = async (name: string, config: string): Promise<unknown> => {
    const { message, ...fault } = await failureOf(() =>
      models.load('n', { config, files: new Map([[name, new Uint8Array(1)]]) }),
    )
    t.match(fault, { kind: 'UNSUPPORTED' }, name)
    return message
  }
  for (const file of ['model.js', 'model.mjs', 'model.ts', 'model.cjs', 'deep/er/MODEL.JS', 'x.mts'])
    t.match(await bring(`1/${file}`, '{}'), /is a module of JavaScript, which never comes with a load/)
  t.match(await bring('1/model.bin', '{"backend":"node"}'), /is for JavaScript/)
  t.match(await bring('1/model.bin', '{"default_model_filename":"main.mjs"}'), /is for JavaScript/)
  await models.close()
})
