// Modules that cannot be loaded, each with the reason, and nothing of them is left; where their packages are found.
import sharp from 'sharp'
import t from 'tap'
import { floats } from '../models/folders.js'
import { ask, faultOf, load, noThreadLeft, textsOf, type Written } from './rig.js'

const good = 'export default { execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: x })) }'

const refused: Readonly<Record<string, readonly [written: Written, text: RegExp]>> = {
  'a syntax error': [{ code: 'export default {\n  execute( { 1 }\n}' }, /^model\.js of model 'm' cannot be loaded: SyntaxError: Unexpected number$/],
  'no default': [{ code: 'export const execute = () => []' }, /^model\.js of model 'm' has no default export: write export default defineModel\(/],
  'no execute': [{ code: 'export default { load() {} }' }, /^Expected an object with the function execute as the default export of model\.js of model 'm' but received Object$/],
  'a default that is no object': [{ code: 'export default 5' }, /but received number 5$/],
  'a concurrency of none': [{ code: 'export default { concurrency: 0, execute() {} }' }, /^Expected a whole number from 1 to 1024 for concurrency of model\.js of model 'm' but received number 0$/],
  'a load that is no function': [{ code: 'export default { execute() {}, load: 1 }' }, /^Expected a function for load of model\.js of model 'm' but received number 1$/],
  'a load that throws': [{ code: 'export default { execute() {}, async load() { throw new TypeError("no labels") } }' }, /^load\(\) of model 'm' failed: TypeError: no labels$/],
  'a module that throws': [{ code: 'throw new Error("not me")' }, /^model\.js of model 'm' cannot be loaded: not me$/],
  'a module that exits': [{ code: 'process.exit(4)' }, /^instance 0 of model 'm' has ended: the module called process\.exit\(4\)$/],
  'a package that is not there': [{ code: "import 'no-such-package'" }, /^model\.js of model 'm' cannot be loaded: .*Cannot find package 'no-such-package' imported from .*model\.js$/],
  'a file that is not there': [{ code: good, config: 'default_model_filename: "main.mjs"' }, /^Expected the file main\.mjs in version 1 of model 'm', but it is not there$/],
  'a folder': [{ code: good, config: 'default_model_filename: "lib"', more: { 'm/1/lib/model.js': good } }, /^Expected the file lib in version 1 of model 'm', but it is no file$/],
  'no inputs': [{ code: good, config: 'output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ] #input [' }, /^Expected input in the config of model 'm' with name, data_type and dims/],
  'no type': [{ code: good, config: 'input [ { name: "x" dims: [ 4 ] } ] output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]' }, /^model input 'x' must specify 'data_type' for m$/],
  'no dims': [{ code: good, config: 'input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "y" data_type: TYPE_FP32 } ]' }, /^model output 'y' must specify 'dims' for m$/],
  'priorities': [{ code: good, config: 'max_batch_size: 2 dynamic_batching { priority_levels: 2 default_priority_level: 1 }' }, /^dynamic_batching\.priority_levels of model 'm' is not served for backend: "node"/],
  'an order of two': [{ code: good, config: 'max_batch_size: 2 dynamic_batching { preserve_ordering: true } instance_group [ { count: 2 } ]' }, /^preserve_ordering of model 'm' is not served over 2 instances/],
  'memory': [{ code: good, config: 'parameters { key: "max_memory_mb" value { string_value: "much" } }' }, /^Expected megabytes from 8 to 1048576 for parameters\.max_memory_mb of model 'm' but received 'much'$/],
} // prettier-ignore

for (const [what, [written, text]] of Object.entries(refused))
  await t.test(`${what} is refused`, async (t) => {
    t.match((await faultOf(load(t, written)))[1], text)
    t.ok(await noThreadLeft())
  })

await t.test('a load that never ends is given up', async (t) => {
  const giveUp = new AbortController()
  const code = 'export default { execute() {}, load: ({ signal }) => new Promise(() => console.log("loading")) }'
  const onOutput = (): void => giveUp.abort(new Error('enough'))
  t.equal((await faultOf(load(t, { code }, { signal: giveUp.signal, onOutput })))[1], 'enough')
  t.ok(await noThreadLeft())
})

await t.test('a failed instance takes the others with it', async (t) => {
  const code = `export default { execute() {}, load({ instance }) {
    if (instance === 1) throw new Error("one is enough")
    if (instance === 2) return new Promise(() => {})
  } }`
  const failed = await faultOf(load(t, { code, config: 'instance_group [ { count: 3 kind: KIND_CPU } ]' }))
  t.equal(failed[1], "load() of model 'm' failed: one is enough")
  t.ok(await noThreadLeft())
})

await t.test('types are stripped where Node does that, and refused where it does not', async (t) => {
  const code = `import { defineModel, type ModelRequest } from 'node-tensorrt/serve'
    const echo = ({ inputs }: ModelRequest) => ({ y: inputs['x']! })
    export default defineModel({ execute: (requests) => requests.map(echo) as never })`
  const strips = 'typescript' in process.features && Boolean(process.features.typescript)
  const loading = load(t, { code, file: 'model.ts' })
  if (strips) t.same((await ask((await loading).model, [1, 2, 3, 4])).map(floats), [[1, 2, 3, 4]])
  else
    t.match(await faultOf(loading), [
      'INTERNAL',
      /^model\.ts of model 'm' needs a Node that strips types, 22\.18 or newer \(of 23, 23\.6\); this is v.*: give model\.js or model\.mjs$/,
    ])
})

const packages =
  'input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "found" data_type: TYPE_STRING dims: [ -1 ] } ]'

await t.test('packages are found from this one: itself, and sharp', async (t) => {
  const code = `
    import sharp from 'sharp'
    import { Tensor } from 'node-tensorrt'
    import { toTensor } from 'node-tensorrt/vision'
    import { defineModel } from 'node-tensorrt/serve'
    import { local } from './local.mjs'
    export default defineModel({
      async execute([{ inputs: { x } }]) {
        const red = await sharp({ create: { width: 2, height: 2, channels: 3, background: 'red' } }).png().toBuffer()
        return [{ found: [sharp.versions.sharp, String(x instanceof Tensor), typeof toTensor, String(red.length > 50), local] }]
      },
    })`
  const { model } = await load(t, { code, config: packages, more: { 'm/1/local.mjs': 'export const local = "here"' } })
  const [found] = await ask(model, [1, 2, 3, 4])
  t.same(textsOf(found!), [sharp.versions.sharp, 'true', 'function', 'true', 'here'])
})

await t.test('CommonJS requires them, too', async (t) => {
  const code = `const sharp = require('sharp'); module.exports = { execute: () => [{ found: [typeof sharp] }] }`
  const { model } = await load(t, {
    code,
    config: `${packages} default_model_filename: "src/main.cjs"`,
    file: 'src/main.cjs',
  })
  t.same((await ask(model, [1, 2, 3, 4])).map(textsOf), [['function']])
  const missing = await faultOf(
    load(t, { code: `require('no-such-package')`, file: 'model.cjs', config: 'default_model_filename: "model.cjs"' }),
  )
  t.match(missing[1], /^model\.cjs of model 'm' cannot be loaded: Cannot find module 'no-such-package'/)
})

await t.test('no thread is left', async (t) => {
  t.ok(await noThreadLeft())
})
