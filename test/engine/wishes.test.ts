// The groups `tensorrt` and `cpu`: a value that an option does not accept is a typed error, whatever runs the model.
// wishes-machines.slow.test.ts has the options on machines that lack something.
import { join } from 'node:path'
import t from 'tap'
import { engineGroups } from '../../lib/engine/options.js'
import { Engine, type EngineOptions } from '../../lib/index.js'
import { buildFakes } from '../fake/build.js'
import { failureOf } from '../support/errors.js'
import { identity } from '../support/models.js'
import { triesOf, wishesOf } from './wishes-table.js'

const fakes = await buildFakes()
const folder = t.testdir({ 'model.onnx': Buffer.from(identity()) })
const model = join(folder, 'model.onnx')
const tries = triesOf(join(folder, 'nowhere'), model, fakes.plugin)

t.test('each option of the groups is tried', (t) => {
  for (const [group, table] of Object.entries(engineGroups))
    t.same(Object.keys(tries[group as keyof typeof tries]).sort(), Object.keys(table).sort(), group)
  t.end()
})

t.test('a wrong value is a typed error, whatever runs', async (t) => {
  for (const { name, wrong } of wishesOf(tries))
    for (const backend of ['auto', 'tensorrt', 'cpu'] as const)
      t.match(await failureOf(() => Engine.load(model, { backend, ...wrong })), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: name === 'tensorrt.builder' ? /precision/ : new RegExp(` for ${name} `),
      })
  for (const [options, meant] of [
    [{ device: 0 }, 'tensorrt.device'],
    [{ library: '/opt' }, 'tensorrt.library'],
    [{ builder: {} }, 'tensorrt.builder'],
    [{ wait: 'spin' }, 'tensorrt.wait'],
    [{ threads: 1 }, 'cpu.threads'],
    [{ onnxruntime: {} }, 'cpu'],
  ] as const)
    t.match(await failureOf(() => Engine.load(model, options as object)), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: `did you mean ${meant}?`,
    })
  for (const path of ['/opt/tensorrt', new URL('file:///opt/tensorrt')])
    t.match(await failureOf(() => Engine.load(model, { tensorrt: path } as unknown as EngineOptions)), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /^Expected an object of options for tensorrt but received .*: the path is tensorrt\.library$/,
    })
})
