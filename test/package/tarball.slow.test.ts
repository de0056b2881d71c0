// The tarball without its binary: what a stranger imports, requires and bundles. types.test.ts has its types, prebuilt.slow.test.ts the binary.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { long } from '../support/tiers.js'
import { stranger } from './stranger.js'
import { root, run } from './support.js'

const { folder, installed, paths, program } = await stranger(t, { ignoreScripts: true })

const use = `
  const tensor = new Tensor('float32', new Float32Array(4), [2, 2])
  capabilities().then((found) => console.log(JSON.stringify({ shape: tensor.shape, found: typeof found })), (error) => { throw error })`
const used = '{"shape":[2,2],"found":"object"}\n'

t.test('what is in it', async (t) => {
  const types = readdirSync(join(root, 'dist/lib'), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.d.ts'))
  t.ok(types.includes('index.d.ts') && types.every((path) => paths.includes(`dist/lib/${path}`)), 'the types are')
  t.same(
    paths.filter((path) => !/^(dist\/lib\/|prebuilds\/|package\.json$|README\.md$|CHANGELOG\.md$|LICENSE$|NOTICE$)/.test(path)),
    [],
    'nothing else is',
  )
  const modules = readdirSync(join(folder, 'node_modules'))
  for (const peer of ['onnxruntime-node', 'sharp']) t.notOk(modules.includes(peer), `the optional peer ${peer} is not installed`)
})

t.test('what each file says of its source map is there, with the sources in it', async (t) => {
  const files = paths.filter((path) => path.endsWith('.js')).map((path) => join(installed, path))
  t.ok(files.length > 50)
  for (const file of files) {
    const [, map = ''] = /^\/\/# sourceMappingURL=(\S+)$/m.exec(readFileSync(file, 'utf8')) ?? []
    const path = join(dirname(file), map)
    if (map === '' || !existsSync(path)) {
      t.fail(`${file} has no source map`)
      continue
    }
    const { sources, sourcesContent = [] } = JSON.parse(readFileSync(path, 'utf8')) as { sources: string[]; sourcesContent?: string[] }
    if (sources.length === 0 || sources.length !== sourcesContent.length) t.fail(`${path} lacks its sources`)
  }
})

t.test('import and require', async (t) => {
  t.equal(await program('imports.mjs', `import { capabilities, Tensor } from 'node-tensorrt'\n${use}`), used)
  t.equal(await program('requires.cjs', `const { capabilities, Tensor } = require('node-tensorrt')\n${use}`), used)
  for (const name of ['onnx', 'vision', 'tasks'])
    t.equal(
      await program(`${name}.mjs`, `import * as all from 'node-tensorrt/${name}'\nconsole.log(Object.keys(all).length > 0)`),
      'true\n',
    )
})

t.test('the command line has two names: the package has one of them, for npx', async (t) => {
  for (const name of ['trt', 'node-tensorrt']) {
    const command = join(folder, 'node_modules', '.bin', name)
    t.match(await run(command, ['--help'], folder), `Usage: ${name} [options] [command]`)
    t.match(JSON.parse(await run(command, ['doctor', '--json'], folder)), { cpu: { available: false } })
  }
})

t.test('without sharp, the error says how to install it', async (t) => {
  const text = `import { readImage } from 'node-tensorrt/vision'\nawait readImage('photo.jpg').catch(({ code, message }) => console.log(code, message))`
  t.equal(
    await program('picture.mjs', text),
    'ERR_TRT_IMAGE Cannot read photo.jpg: pictures need sharp. To install it: npm install sharp\n',
  )
})

t.test('an app that esbuild bundled, with the package left outside of the bundle', async (t) => {
  writeFileSync(join(folder, 'words.ts'), `export const words = (shape: readonly number[]): string => shape.join(' x ')`)
  const app = `
    import { capabilities, Tensor } from 'node-tensorrt'
    import { GraphBuilder, writeModel } from 'node-tensorrt/onnx'
    import { words } from './words.js'
    const graph = new GraphBuilder({ name: 'one' })
    graph.output(graph.node('Relu', [graph.input('x', 'float32', [2])]), 'float32', [2])
    const bytes: Uint8Array = writeModel(graph.toModel())
    capabilities().then(({ platform }) => console.log(words(Tensor.zeros('int8', [2, 3]).shape), bytes.length > 0, platform.node))`
  writeFileSync(join(folder, 'app.ts'), app)
  // what is left outside is required as requires.cjs, above, requires it
  for (const format of long ? (['esm', 'cjs'] as const) : (['esm'] as const)) {
    const outfile = format === 'esm' ? 'app.mjs' : 'app.cjs'
    const entryPoints = [join(folder, 'app.ts')]
    await build({ entryPoints, outfile: join(folder, outfile), bundle: true, platform: 'node', format, external: ['node-tensorrt'] })
    t.equal(await run(process.execPath, ['--no-warnings', outfile], folder), `2 x 3 true ${process.versions.node}\n`, format)
  }
})
