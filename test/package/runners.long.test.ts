// The tarball in the test runners that run tests in `vm` contexts, Jest and Vitest's vmThreads and vmForks, and in
// Vitest's other pools: the same suite in each.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../support/folders.js'
import { identity } from '../support/models.js'
import { hasAddon, packed } from './stranger.js'
import { run } from './support.js'

t.setTimeout(1_200_000)

const folder = temporaryFolder(t)
const tools = ['jest@30.5.2', 'vitest@4.1.12']

const suite = `import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { Engine, Plan, Tensor, TensorRTError } from 'node-tensorrt'
import { GraphBuilder, readModel, saveModel } from 'node-tensorrt/onnx'
import { blurRegions, connectedComponents, encodeImage, readImage, stretch, suppress, toTensor, topK } from 'node-tensorrt/vision'

const picture = { width: 8, height: 8, channels: 3, data: new Uint8Array(192) }
async function inferred(source, options) {
  const engine = await Engine.load(source, options)
  try {
    const { y } = await engine.infer({ x: new Tensor('float32', new Float32Array([-1, 2]), [2]) })
    expect(y.data instanceof Float32Array || Object.prototype.toString.call(y.data) === '[object Float32Array]').toBe(true)
    return [...y.data]
  } finally {
    await engine.close()
  }
}

test('a path', async () => expect(await inferred('model.onnx')).toEqual([-1, 2]))
test('a URL', async () => expect(await inferred(pathToFileURL('model.onnx'))).toEqual([-1, 2]))
test('bytes', async () => expect(await inferred(new Uint8Array(readFileSync('model.onnx')))).toEqual([-1, 2]))
test('options', async () =>
  expect(await inferred('model.onnx', { backend: 'cpu', signal: new AbortController().signal })).toEqual([-1, 2]))
test('a missing file', async () => {
  const error = await Engine.load('nope.onnx').catch((error) => error)
  expect([error instanceof TensorRTError, error.code]).toEqual([true, 'ERR_TRT_FILE'])
})
test('no plan', async () => expect(Plan.load('model.onnx')).rejects.toMatchObject({ code: 'ERR_TRT_PLAN' }))
test('models', async () => {
  const g = new GraphBuilder({ name: 'new' })
  g.output(g.node('Add', [g.input('x', 'float32', [2]), g.constant('w', new Tensor('float32', new Float32Array(2), [2]))]), 'float32', [2])
  const path = \`new-\${Math.random()}.onnx\`
  await saveModel(g.toModel(), path)
  expect((await readModel(path)).graph.name).toBe('new')
  expect((await readModel(new Uint8Array(readFileSync(path)))).graph.name).toBe('new')
})
test('pictures', async () => {
  expect((await readImage(await encodeImage(picture, 'png'))).width).toBe(8)
  expect((await toTensor(picture, stretch(picture, 4))).shape).toEqual([1, 3, 4, 4])
  await blurRegions(picture, [[1, 1, 4, 4]])
  await connectedComponents({ width: 2, height: 2, data: new Uint8Array(4) })
})
test('scores', () => {
  expect(topK(new Float32Array([1, 3, 2]), 2).length).toBe(2)
  expect(suppress({ boxes: new Float32Array([0, 0, 1, 1]), scores: new Float32Array([1]) }).length).toBe(1)
})
`
const jest = `export default {
  testEnvironment: 'node', testMatch: ['**/suite.jest.mjs'], transform: {},
  moduleFileExtensions: ['mjs', 'cjs', 'js', 'json', 'node'],
}
`

const installed = await install()

/** What was printed where a registry could not be reached. */
async function install(): Promise<string | undefined> {
  const tarball = await packed(join(folder, 'packed'), { addon: hasAddon })
  const place = join(folder, 'suite')
  mkdirSync(place)
  writeFileSync(join(place, 'package.json'), '{ "name": "suite", "private": true, "type": "module" }')
  writeFileSync(join(place, 'model.onnx'), identity('float32', ['N']))
  writeFileSync(join(place, 'suite.jest.mjs'), suite)
  writeFileSync(join(place, 'suite.test.mjs'), `import { expect, test } from 'vitest'\n${suite}`)
  writeFileSync(join(place, 'jest.config.mjs'), jest)
  const quietly = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  try {
    await run('npm', ['install', tarball, ...tools, 'onnxruntime-node@1.30', 'sharp', ...quietly], place)
    return undefined
  } catch (error) {
    if (/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT/.test(String(error))) return 'the registry cannot be reached'
    throw error
  }
}

type Runner = readonly [name: string, args: readonly string[], env: NodeJS.ProcessEnv]

const runners: readonly Runner[] = [
  ['Jest', ['jest/bin/jest.js'], { NODE_OPTIONS: '--experimental-vm-modules' }],
  ...['threads', 'forks', 'vmThreads', 'vmForks'].map((pool): Runner => [
    `Vitest, ${pool}`,
    ['vitest/vitest.mjs', 'run', `--pool=${pool}`],
    {},
  ]),
]

for (const [name, [program = '', ...args], env] of runners)
  t.test(name, { skip: installed ?? false }, async (t) => {
    const place = join(folder, 'suite')
    await t.resolves(run(process.execPath, [join(place, 'node_modules', program), ...args], place, env))
  })
