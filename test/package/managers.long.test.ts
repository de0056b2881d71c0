// The tarball as each package manager installs it, with the versions of Node that it is for, behind a proxy that lets
// through to the registry alone: imported, required, compiled against, asked by `doctor`; without onnxruntime-node it
// says what to install, with it it infers.
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { processFolder } from '../support/folders.js'
import { installed } from '../support/needs.js'
import { type RegistryProxy, startRegistryProxy } from './registry-proxy.js'
import { hasAddon, packed } from './stranger.js'
import { root, run } from './support.js'

t.setTimeout(1_800_000)

/** The managers themselves, from their npm packages. */
const tools = ['pnpm@12.21.0', '@yarnpkg/cli-dist@4.18.1', 'bun@1.4.5', '@oven/bun-linux-x64@1.4.5']

interface Manager {
  readonly name: string
  /** The line of Node; bun runs by itself. */
  readonly node: string
  readonly files?: Readonly<Record<string, string>>
  /** How it adds packages, how it runs a file, and how a command of a package. */
  readonly add: readonly string[]
  readonly noScripts: readonly string[]
  /** So that it may run the install script of onnxruntime-node, which is told to download nothing. */
  readonly allowing?: readonly string[]
  readonly file: readonly string[]
  readonly command: readonly string[]
  /** Why `require` does not find the package's dependencies here. */
  readonly noRequire?: RegExp
}

const folder = processFolder()
const toolsFolder = join(folder, 'tools')
mkdirSync(toolsFolder)
writeFileSync(join(toolsFolder, 'package.json'), '{ "name": "tools", "private": true }')
const proxy = await startRegistryProxy(t, folder)
await installed(
  run(
    'npm',
    ['install', ...tools, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    toolsFolder,
    through(proxy),
  ),
)
const tarball = await packed(join(folder, 'packed'), { addon: hasAddon })

const yarn = join(toolsFolder, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js')
const pnpm = join(toolsFolder, 'node_modules/.bin/pnpm')
const bun = join(toolsFolder, 'node_modules/@oven/bun-linux-x64/bin/bun')
const yarnrc = (linker: string): string =>
  [
    `nodeLinker: ${linker}`,
    `npmRegistryServer: ${JSON.stringify(proxy.registry.href)}`,
    'enableTelemetry: false',
    'enableImmutableInstalls: false',
    '',
  ].join('\n')

const [oldest, middle, newest] = ['20.19.0', '22.12.0', '24.21.0'] as const
/** Plug'n'Play has hooks for `import`, which `require` of an ES module asks only from Node 24 on. */
const noHooks = /ERR_MODULE_NOT_FOUND/
const yarnWith = (linker: string, node: string): Manager => ({
  name: `yarn (${linker})`,
  node,
  files: { '.yarnrc.yml': yarnrc(linker), 'yarn.lock': '' },
  add: ['node', yarn, 'add'],
  noScripts: [],
  file: ['node', yarn, 'node'],
  command: ['node', yarn],
  ...(linker === 'pnp' && node !== newest ? { noRequire: noHooks } : {}),
})
const managers: readonly Manager[] = [
  { name: 'npm', node: oldest, add: ['npm', 'install', '--no-audit', '--no-fund'], noScripts: ['--ignore-scripts'], file: ['node'], command: ['npx', '--no-install'] },
  { name: 'npm', node: newest, add: ['npm', 'install', '--no-audit', '--no-fund'], noScripts: ['--ignore-scripts'], file: ['node'], command: ['npx', '--no-install'] },
  { name: 'pnpm', node: middle, add: [pnpm, 'add'], noScripts: ['--ignore-scripts'], allowing: ['--allow-build=onnxruntime-node'], file: ['node'], command: [pnpm, 'exec'] },
  yarnWith('node-modules', newest),
  yarnWith('pnp', oldest),
  yarnWith('pnp', newest),
  { name: 'bun', node: 'bun', add: [bun, 'add'], noScripts: ['--ignore-scripts'], file: [bun, 'run'], command: [bun, '--bun', 'x'] },
] // prettier-ignore

function through({ url }: RegistryProxy): NodeJS.ProcessEnv {
  const names = [
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'http_proxy',
    'https_proxy',
    'npm_config_proxy',
    'npm_config_https_proxy',
    'YARN_HTTP_PROXY',
    'YARN_HTTPS_PROXY',
  ]
  return { ...Object.fromEntries(names.map((name) => [name, url])), NO_PROXY: '', no_proxy: '' }
}

const caches = ['npm_config_cache', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'BUN_INSTALL_CACHE_DIR', 'YARN_GLOBAL_FOLDER']

const graph = `
const graph = new GraphBuilder({ name: 'one' })
graph.output(graph.node('Relu', [graph.input('x', 'float32', [1, 4])], {}, { output: 'y' }), 'float32', [1, 4])
const model = writeModel(graph.toModel())`
const inferring = `
const first = async () => {
  const engine = await Engine.load(model)
  const { y } = await engine.infer({ x: Tensor.from(new Float32Array([-1, 2, -3, 4]), [1, 4]) })
  await engine.close()
  return [engine.backend, y.data.join()].join(' ')
}
first().then((text) => console.log(text), ({ code, message }) => console.log(code, message))`
const files = {
  'import.mjs': `import { Engine, Tensor } from 'node-tensorrt'\nimport { GraphBuilder, writeModel } from 'node-tensorrt/onnx'${graph}${inferring}`,
  'require.cjs': `const { Engine, Tensor } = require('node-tensorrt')\nconst { GraphBuilder, writeModel } = require('node-tensorrt/onnx')${graph}${inferring}`,
  'app.mts': `import { Engine, type Tensor } from 'node-tensorrt'
import { GraphBuilder } from 'node-tensorrt/onnx'
import { readImage } from 'node-tensorrt/vision'
export const loaded: Promise<Engine> = Engine.load('model.onnx')
export type Of = Tensor<'float32'>
export const graph: GraphBuilder = new GraphBuilder({ name: 'one' })
export const read: typeof readImage = readImage
// @ts-expect-error it has no such backend
export const wrong = Engine.load('model.onnx', { backend: 'gpu' })`,
}

const { ensureNode } = (await import(pathToFileURL(join(root, 'scripts/nodes.mjs')).href)) as {
  ensureNode: (version: string) => Promise<string>
}

for (const [i, manager] of managers.entries()) {
  const { name, node } = manager
  t.test(`${name}, ${node === 'bun' ? 'by itself' : `Node ${node}`}`, async (t) => {
    const here = join(folder, String(i))
    mkdirSync(here)
    const all = {
      'package.json': '{ "name": "stranger", "version": "1.0.0", "private": true }',
      ...files,
      ...manager.files,
    }
    for (const [file, text] of Object.entries(all)) writeFileSync(join(here, file), text)
    const bin = node === 'bun' ? '' : `${dirname(await ensureNode(node))}:`
    const env = {
      ...process.env,
      PATH: `${bin}${process.env['PATH'] ?? ''}`,
      NODE_OPTIONS: '',
      CI: '1',
      ONNXRUNTIME_NODE_INSTALL: 'skip',
      // what was fetched before would not be asked for again
      ...Object.fromEntries(caches.map((variable) => [variable, join(folder, 'caches', String(i))])),
      ...through(proxy),
    }
    for (const each of Object.keys(env))
      if (/^(npm_(package|lifecycle)|TAP|_TAPJS|TENSORRT|NODE_TENSORRT)/i.test(each)) Reflect.deleteProperty(env, each)
    /** What a command printed, and its error where it failed: the test shows it. */
    const say = ([command = '', ...args]: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string> =>
      new Promise((resolve) => {
        execFile(command, args, { cwd: here, env: { ...env, ...more }, maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
          resolve(error === null ? stdout : `${stdout}\n${stderr}\n${error.message}`),
        )
      })
    const added = async (
      packages: readonly string[],
      flags: readonly string[],
      more?: NodeJS.ProcessEnv,
    ): Promise<void> => {
      const before = proxy.let()
      const said = await say([...manager.add, ...flags, ...packages], more)
      t.notMatch(said, /Command failed/, said)
      t.ok(proxy.let() > before, 'through the proxy')
    }

    const own = manager.add.includes(yarn) ? `node-tensorrt@file:${tarball}` : tarball
    await added([own, 'typescript@5.9.3', '@types/node@^20.19.0'], manager.noScripts, { YARN_ENABLE_SCRIPTS: 'false' })
    const missing = /^ERR_TRT_NO_ONNXRUNTIME .*npm install onnxruntime-node/
    t.match(await say([...manager.file, 'import.mjs']), missing, 'import: it says what is missing')
    t.match(
      await say([...manager.file, 'require.cjs']),
      manager.noRequire ?? missing,
      'require: it says what is missing',
    )
    const tsc = [
      ...manager.command,
      'tsc',
      '--strict',
      '--target',
      'es2022',
      '--module',
      'nodenext',
      '--types',
      'node',
      '--noEmit',
      'app.mts',
    ]
    t.equal(await say(tsc), '', 'types')

    await added(['onnxruntime-node@^1.30.0'], manager.allowing ?? [])
    t.equal(await say([...manager.file, 'import.mjs']), 'cpu 0,2,0,4\n', 'import: it infers')
    t.match(await say([...manager.file, 'require.cjs']), manager.noRequire ?? /^cpu 0,2,0,4\n$/, 'require: it infers')
    t.equal(
      await say([...manager.file, 'import.mjs'], { NODE_TENSORRT_PORTABLE: '1' }),
      'cpu 0,2,0,4\n',
      'without the addon',
    )
    const doctor = await say([...manager.command, 'node-tensorrt', 'doctor', '--json'])
    t.match(doctor, /^\{/, 'doctor')
    if (doctor.startsWith('{')) t.match(JSON.parse(doctor), { addon: { loaded: hasAddon }, cpu: { available: true } })
  })
}

t.teardown(() => t.comment(`refused by the proxy: ${[...new Set(proxy.refused())].join(', ') || 'nothing'}`))
