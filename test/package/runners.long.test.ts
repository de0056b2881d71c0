// The tarball where tests and bundles run: the one program in Jest (ES modules, a window of jsdom, CommonJS where Node
// can), in each of Vitest's pools, bundled by esbuild with the package left outside, on each line of Node and in bun;
// and what Jest alone does: fake timers, --detectOpenHandles, the package twice.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { buildFakes } from '../fake/build.js'
import { processFolder } from '../support/folders.js'
import { installed } from '../support/needs.js'
import { onCpu, onTensorRT, withoutAddon, writeProgram } from './program.js'
import { hasAddon, packed } from './stranger.js'
import { root, run } from './support.js'

t.setTimeout(1_800_000)

const folder = processFolder()
const place = join(folder, 'suite')
const fakes = await buildFakes()
const tools = [
  'jest@30.5.2',
  'jest-environment-jsdom@30.5.2',
  'vitest@4.1.12',
  'esbuild@0.28',
  '@oven/bun-linux-x64@1.4.5',
]
const modules = join(place, 'node_modules')
const [oldest, middle, newest] = ['20.19.0', '22.12.0', '24.21.0'] as const

/** What each way adds to the environment, and what the program tells then. */
const runtimes: readonly [name: string, env: NodeJS.ProcessEnv, told: object][] = [
  ['the CPU', {}, onCpu],
  ['TensorRT 10', { NODE_TENSORRT_LIBCUDA: fakes.cuda, TENSORRT_PATH: fakes.trt10 }, onTensorRT],
  ['without the addon', { NODE_TENSORRT_PORTABLE: '1' }, withoutAddon],
]
const [[, , told]] = runtimes as [(typeof runtimes)[0]]
const text = JSON.stringify(told)

/** Files of the suites, by their names. */
const files: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "suite", "private": true, "type": "module" }',
  'print.mjs': `import { program } from './program.mjs'\nconsole.log(JSON.stringify(await program()))`,
  'print.cjs': `require('./program.cjs').program().then((told) => console.log(JSON.stringify(told)))`,
  'vitest.test.mjs': `import { expect, test } from 'vitest'
import { program } from './program.mjs'
test('the program', async () => expect(await program()).toEqual(${text}))`,
  'jest.config.mjs': `export default { testMatch: ['**/*.jest.{mjs,cjs}'], transform: {}, moduleFileExtensions: ['mjs', 'cjs', 'js', 'json', 'node'] }`,
  'esm.jest.mjs': `import { program } from './program.mjs'
test('the program', async () => expect(await program()).toEqual(${text}))`,
  'require.jest.cjs': `const { program } = require('./program.cjs')
test('the program', async () => expect(await program()).toEqual(${text}))`,
  'import.jest.cjs': `test('the program', async () => {
  const { program } = await import('./program.mjs')
  expect(await program()).toEqual(${text})
})`,
  'window.jest.mjs': `/** @jest-environment jsdom */
import { program } from './program.mjs'
import { Engine, Tensor } from 'node-tensorrt'
import { readModel } from 'node-tensorrt/onnx'
import { encodeImage, readImage, stretch, toTensor } from 'node-tensorrt/vision'
test('the program', async () => expect(await program()).toEqual(${text}))
test('what a window has', async () => {
  const picture = { width: 4, height: 4, channels: 3, data: new Uint8Array(48) }
  const png = new Uint8Array(await encodeImage(picture, 'png'))
  await expect(readImage(new Blob([png]))).rejects.toThrow('read it by a FileReader')
  const file = await new Promise((resolve) => {
    const reader = Object.assign(new FileReader(), { onload: () => resolve(reader.result) })
    reader.readAsArrayBuffer(new File([png], 'x.png'))
  })
  for (const source of [png, png.buffer, file]) expect((await readImage(source)).width).toBe(4)
  const pixels = { width: 4, height: 4, data: new Uint8ClampedArray(64) }
  expect((await toTensor(pixels, stretch(pixels, 2))).shape).toEqual([1, 3, 2, 2])
  const model = new URL('file://' + process.cwd() + '/rows.onnx')
  expect((await readModel(model)).graph.name).toBe('rows')
  const stop = new AbortController()
  const engine = await Engine.load(model, { signal: stop.signal })
  const infer = engine.infer({ x: Tensor.zeros('float32', [1, 3]) }, { signal: stop.signal })
  stop.abort()
  await expect(infer).rejects.toBe(stop.signal.reason)
  await engine.close()
})`,
  'timers.jest.mjs': `import { jest } from '@jest/globals'
import { Engine, Tensor } from 'node-tensorrt'
import { GraphBuilder } from 'node-tensorrt/onnx'
import { blurRegions, toTensor, stretch } from 'node-tensorrt/vision'
const x = Tensor.zeros('float32', [1, 3])
test('fake timers', async () => {
  jest.useFakeTimers()
  const engine = await Engine.load('rows.onnx', { batching: { maxBatch: 4, maxDelayMs: 5 } })
  const { y } = await engine.infer({ x })
  expect(y.data).toStrictEqual(Float32Array.of(1, 1, 1))
  expect(y.data).toBeInstanceOf(Float32Array)
  const waiting = await Engine.load('rows.onnx', { batching: { maxBatch: 4, maxDelayMs: 60000, holdUntil: 2 } })
  const late = expect(waiting.infer({ x }, { timeoutMs: 1000 })).rejects.toMatchObject({ code: 'ERR_TRT_TIMEOUT' })
  jest.advanceTimersByTime(1000)
  await late
  await Promise.all([engine.close(), waiting.close()])
  const picture = { width: 4, height: 4, channels: 3, data: new Uint8Array(48) }
  await blurRegions(picture, [[0, 0, 2, 2]])
  process.env.NODE_TENSORRT_PORTABLE = '1'
  await toTensor(picture, stretch(picture, 2))
  delete process.env.NODE_TENSORRT_PORTABLE
  jest.useRealTimers()
})
test('an engine that is left open', () => Engine.load('rows.onnx'))
test('the package twice', async () => {
  const engine = await Engine.load('rows.onnx')
  jest.resetModules()
  const other = await import('node-tensorrt')
  expect(other.Tensor).not.toBe(Tensor)
  const theirs = other.Tensor.zeros('float32', [1, 3])
  await expect(engine.infer({ x: theirs })).rejects.toThrow(/Expected a Tensor .* another copy of node-tensorrt.*Tensor\\.from\\(it\\)/)
  expect(() => new GraphBuilder({ name: 'x' }).constant('w', theirs)).toThrow('another copy of node-tensorrt')
  expect((await engine.infer({ x: Tensor.from(theirs) })).y.data[0]).toBe(1)
  const attached = await other.Engine.attach(engine.share())
  expect((await attached.infer({ x: theirs })).y.data[0]).toBe(1)
  await Promise.all([attached.close(), engine.close()])
})
test('a mock of the package', async () => {
  const real = await import('node-tensorrt')
  jest.unstable_mockModule('node-tensorrt', () => ({ ...real, Engine: { load: async () => 'mocked' } }))
  expect(await (await import('node-tensorrt')).Engine.load('x')).toBe('mocked')
})`,
}

const tarball = await packed(join(folder, 'packed'), { addon: hasAddon })
mkdirSync(place)
await writeProgram(place)
for (const [name, body] of Object.entries(files)) writeFileSync(join(place, name), body)
const quietly = ['--ignore-scripts', '--force', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
await installed(run('npm', ['install', tarball, ...tools, 'onnxruntime-node@1.30', 'sharp', ...quietly], place))

const { ensureNode } = (await import(pathToFileURL(join(root, 'scripts/nodes.mjs')).href)) as {
  ensureNode: (version: string) => Promise<string>
}
const bun = join(modules, '@oven/bun-linux-x64/bin/bun')
const quiet = { NODE_TENSORRT_LIBCUDA: '/nonexistent', NODE_TENSORRT_CACHE: join(folder, 'engines') }

/** What a command prints; where it fails, what it said. */
async function say(t: Test, node: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  try {
    return await run(node, [...args], place, { ...quiet, ...env })
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout?: string; stderr?: string }
    t.comment(`${message}\n${stdout ?? ''}\n${stderr ?? ''}`.slice(0, 8000))
    return `failed: ${stderr ?? ''}`
  }
}

/** The same text in each way that a program is loaded. */
async function printed(t: Test, node: string, programs: readonly string[]): Promise<void> {
  for (const [name, env, told] of runtimes)
    for (const program of programs) {
      const out = await say(t, node, [program], env)
      t.same(out.startsWith('{') ? JSON.parse(out) : out, told, `${name}, ${program}`)
    }
}

t.test('other versions of Node, and bundled', async (t) => {
  for (const format of ['esm', 'cjs']) {
    const outfile = `--outfile=bundled.${format === 'esm' ? 'mjs' : 'cjs'}`
    const how = ['--bundle', '--platform=node', '--external:node-tensorrt', `--format=${format}`, outfile]
    await say(t, process.execPath, [
      join(modules, 'esbuild/bin/esbuild'),
      `print.${format === 'esm' ? 'mjs' : 'cjs'}`,
      ...how,
    ])
  }
  const programs = ['print.mjs', 'print.cjs', 'bundled.mjs', 'bundled.cjs']
  for (const version of [oldest, middle, newest])
    await t.test(`Node ${version}`, async (t) => printed(t, await ensureNode(version), programs))
  await t.test('bun', async (t) => printed(t, bun, programs))
})

t.test('Vitest', async (t) => {
  for (const pool of ['threads', 'forks', 'vmThreads', 'vmForks'])
    t.notMatch(
      await say(t, process.execPath, [join(modules, 'vitest/vitest.mjs'), 'run', `--pool=${pool}`]),
      /^failed/,
      pool,
    )
})

t.test('Jest', async (t) => {
  const modulesOfVm = { NODE_OPTIONS: '--experimental-vm-modules' }
  const jest = join(modules, 'jest/bin/jest.js')
  for (const version of [oldest, middle, newest]) {
    const node = await ensureNode(version)
    for (const suite of ['esm.jest.mjs', 'window.jest.mjs', 'timers.jest.mjs', 'import.jest.cjs'])
      t.notMatch(await say(t, node, [jest, suite], modulesOfVm), /^failed/, `${suite}, Node ${version}`)
    const required = await say(t, node, [jest, 'require.jest.cjs'], modulesOfVm)
    if (version === newest) t.notMatch(required, /^failed/, `CommonJS, Node ${version}`)
    else t.match(required, /Use Node v24\.9\+ where Jest supports require\(esm\) natively/, `CommonJS, Node ${version}`)
  }
  const handles = await run(
    'sh',
    ['-c', '"$@" 2>&1', 'sh', process.execPath, jest, '--detectOpenHandles', 'timers.jest.mjs'],
    place,
    { ...quiet, ...modulesOfVm },
  )
  t.match(handles, /Tests: +4 passed/)
  t.notMatch(handles, /open handle/, '--detectOpenHandles finds none')
})
