// What lies around a repository: another copy of this package above it, a package.json of CommonJS.
import t from 'tap'
import { floats } from '../models/folders.js'
import { ask, load } from './rig.js'

const other = {
  'node_modules/node-tensorrt/package.json':
    '{ "name": "node-tensorrt", "version": "0.0.1", "type": "module", "exports": { ".": "./index.js" } }',
  'node_modules/node-tensorrt/index.js': 'export class Tensor {}\nexport const isOther = true\n',
}

for (const [how, head] of [
  ['import', "import { Tensor } from 'node-tensorrt'\nimport { defineModel } from 'node-tensorrt/serve'"],
  ['require', "const { Tensor } = require('node-tensorrt')\nconst defineModel = (model) => model"],
] as const) {
  await t.test(how, async (t) => {
    const model = `{ execute: (requests) => requests.map(({ inputs }) => {
      if (!(inputs.x instanceof Tensor)) return new Error('the Tensor of another copy')
      return { y: new Tensor('float32', Float32Array.from(inputs.x.data, (v) => 2 * v), [4]) }
    }) }`
    const code =
      how === 'import' ? `${head}\nexport default defineModel(${model})` : `${head}\nmodule.exports = ${model}`
    const loaded = await load(t, {
      code,
      file: how === 'import' ? 'model.mjs' : 'model.cjs',
      config: how === 'import' ? '' : 'default_model_filename: "model.cjs"',
      more: withParts(other),
    })
    const [y] = await ask(loaded.model, [1, 2, 3, 4])
    t.same(floats(y!), [2, 4, 6, 8])
  })
}

/** In the model's folder, above the version's. */
function withParts(files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`m/${path}`, text]))
}

await t.test(
  'an ES module below a package.json of CommonJS, as npm init writes it, with a file beside it',
  async (t) => {
    const code = `import { doubled } from './doubled.js'
export default { execute: (requests) => requests.map(({ inputs }) => ({ y: doubled(inputs.x) })) }`
    const more = {
      'm/package.json': '{ "type": "commonjs" }',
      'm/1/doubled.js': `import { Tensor } from 'node-tensorrt'
export const doubled = (x) => new Tensor('float32', Float32Array.from(x.data, (v) => 2 * v), [4])`,
    }
    const loaded = await load(t, { code, more })
    const [y] = await ask(loaded.model, [1, 2, 3, 4])
    t.same(floats(y!), [2, 4, 6, 8])
    t.same(loaded.output, [], 'Node warns of nothing')
  },
)

await t.test('a module of CommonJS there stays one', async (t) => {
  const code = 'module.exports = { execute: (requests) => requests.map(({ inputs }) => ({ y: inputs.x })) }'
  const loaded = await load(t, { code, more: { 'm/package.json': '{ "type": "commonjs" }' } })
  t.same(floats((await ask(loaded.model, [1, 2, 3, 4]))[0]!), [1, 2, 3, 4])
})
