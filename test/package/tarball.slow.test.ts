// The tarball without its binary: what a stranger imports, requires and bundles. types.slow.test.ts has its types,
// prebuilt.long.test.ts the binary.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { build } from 'esbuild'
import { publint } from 'publint'
import t from 'tap'
import { long } from '../support/tiers.js'
import { stranger } from './stranger.js'
import { root, run } from './support.js'

const { folder, installed, tarball, bytes, paths, program } = await stranger({ addon: false })

const use = `
  const tensor = new Tensor('float32', new Float32Array(4), [2, 2])
  capabilities().then((found) => console.log(JSON.stringify({ shape: tensor.shape, found: typeof found })), (error) => { throw error })`
const used = '{"shape":[2,2],"found":"object"}\n'

t.test('what is in it', async (t) => {
  const built = readdirSync(join(root, 'dist/lib'), { recursive: true, encoding: 'utf8' })
  const code = built.filter((path) => path.endsWith('.js')).map((path) => `dist/lib/${path}`)
  t.ok(code.length > 50)
  t.same(
    code.filter((path) => !paths.includes(path)),
    [],
    'all of the code is',
  )
  const types = paths.filter((path) => path.endsWith('.d.ts'))
  t.ok(paths.includes('onnxruntime-node/package.json'), 'what overrides point at is')
  t.ok(types.includes('dist/lib/index.d.ts') && types.includes('dist/lib/engine.d.ts'), 'the types are')
  t.same(
    paths.filter(
      (path) =>
        !/^(dist\/lib\/.+\.(js|d\.ts|proto)|commonjs\/[\w-]+\.cjs|onnxruntime-node\/(index\..+|package\.json))$/.test(
          path,
        ) && !/^(package\.json|README\.md|CHANGELOG\.md|LICENSE|NOTICE)$/.test(path),
    ),
    [],
    'nothing else is',
  )
  const modules = readdirSync(join(folder, 'node_modules'))
  for (const peer of ['fastify', 'onnxruntime-node', 'pino', 'prom-client', 'sharp'])
    t.notOk(modules.includes(peer), `the optional peer ${peer} is not installed`)
})

t.test(
  'no file names a source map, has a source, or names what is not there; the declarations have their comments',
  async (t) => {
    const texts = paths
      .filter((path) => /\.(js|d\.ts)$/.test(path))
      .map((path) => [path, readFileSync(join(installed, path), 'utf8')] as const)
    t.same(
      texts.flatMap(([path, text]) => (/sourceMappingURL|sourcesContent/.test(text) ? [path] : [])),
      [],
    )
    const missing = texts.flatMap(([path, text]) =>
      Array.from(text.matchAll(/(?:\bfrom|\bimport\()\s*['"](\.{1,2}\/[^'"]+)\.js['"]/g), ([, name = '']) => {
        const named = join(dirname(join(installed, path)), name) + (path.endsWith('.d.ts') ? '.d.ts' : '.js')
        return existsSync(named) ? undefined : `${path} names ${name}`
      }),
    )
    t.same(
      missing.filter((each) => each !== undefined),
      [],
    )
    t.match(readFileSync(join(installed, 'dist/lib/engine.d.ts'), 'utf8'), /\/\*\*[\s\S]+@throws/)
  },
)

t.test('with its binary, of less than 730 kB, the tarball has at most 1.65 MB', async (t) => {
  t.ok(bytes <= 920_000, `${bytes} bytes without the binary`)
})

/** What `attw` says and is so on purpose: of its kind of problem, and of the one kind of resolution that has it. */
const setAside = [
  // `moduleResolution: node10` of TypeScript knows no `exports`; it is deprecated, and no Node that the package runs on
  // resolves like it
  'NoResolution, node10',
  // `require` gets the ES modules, by way of commonjs/, which says on an older Node that it is too old: the types are
  // those of ES modules, which TypeScript's `nodenext` takes
  'FalseESM, any',
]

/** What publint says of the folder that npm's overrides point at, which is a package of its own there. */
const ofOverrides = 'NESTED_PACKAGE_JSON_FIELD_IGNORED'
const standIn = './onnxruntime-node/package.json'

t.test('publint and attw find nothing that is not so on purpose', async (t) => {
  const data = new Uint8Array(readFileSync(tarball))
  const { messages } = await publint({ pack: { tarball: data.buffer }, strict: true })
  t.same(
    messages.filter(({ code, args }) => !(code === ofOverrides && 'filePath' in args && args.filePath === standIn)),
    [],
    'publint',
  )
  const found = await checkPackage(createPackageFromTarballData(data))
  if (found.types === false) return void t.fail('attw finds no types')
  const kinds = found.problems.map(
    (problem) => `${problem.kind}, ${'resolutionKind' in problem ? problem.resolutionKind : 'any'}`,
  )
  t.same([...new Set(kinds)].sort(), [...setAside].sort(), 'attw')
})

t.test('import and require', async (t) => {
  t.equal(await program('imports.mjs', `import { capabilities, Tensor } from 'node-tensorrt'\n${use}`), used)
  t.equal(await program('requires.cjs', `const { capabilities, Tensor } = require('node-tensorrt')\n${use}`), used)
  for (const name of ['onnx', 'serve', 'video', 'vision', 'tasks'])
    t.equal(
      await program(
        `${name}.mjs`,
        `import * as all from 'node-tensorrt/${name}'\nconsole.log(Object.keys(all).length > 0)`,
      ),
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
  writeFileSync(
    join(folder, 'words.ts'),
    `export const words = (shape: readonly number[]): string => shape.join(' x ')`,
  )
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
    await build({
      entryPoints,
      outfile: join(folder, outfile),
      bundle: true,
      platform: 'node',
      format,
      external: ['node-tensorrt'],
    })
    t.equal(
      await run(process.execPath, ['--no-warnings', outfile], folder),
      `2 x 3 true ${process.versions.node}\n`,
      format,
    )
  }
})
