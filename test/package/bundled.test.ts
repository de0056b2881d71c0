// A bundle that took in the whole package: one error that says what to do, whatever is asked of it first.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import type * as Package from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { temporaryFolder } from '../support/folders.js'

const graph = new GraphBuilder({ name: 'g' })
graph.output(graph.node('Relu', [graph.input('x', 'float32', [1])]), 'float32', [1])
const model = writeModel(graph.toModel())

/** Of the bundle's own class of errors. */
const failureOf = async (call: () => Promise<unknown>): Promise<unknown> =>
  call().then(
    () => undefined,
    (error: unknown) => error,
  )

const lasting = {
  name: 'TensorRTError',
  code: 'ERR_TRT_NO_ADDON',
  message:
    /^(?:[^:]*: )?node-tensorrt is part of a bundle, where neither its addon nor the files of its threads are\. What to do: leave node-tensorrt external, as with esbuild --external:node-tensorrt; .*bundlers\.md$/,
}

for (const format of ['esm', 'cjs'] as const) {
  t.test(`a bundle of ${format}`, async (t) => {
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, 'package.json'), '{ "name": "an-app", "version": "1.0.0" }')
    const outfile = join(folder, format === 'esm' ? 'app.mjs' : 'app.cjs')
    const entry = fileURLToPath(new URL('../../lib/index.js', import.meta.url))
    const { errors } = await build({
      entryPoints: [entry],
      bundle: true,
      platform: 'node',
      format,
      outfile,
      external: ['sharp', 'onnxruntime-node'],
      logLevel: 'silent',
    })
    t.same(errors, [])
    const imported: unknown =
      format === 'esm' ? await import(pathToFileURL(outfile).href) : createRequire(outfile)(outfile)
    const { Builder, capabilities, Engine, Tensor } = imported as typeof Package
    t.equal(Tensor.zeros('float32', [2]).byteLength, 8, 'what needs none of it works')
    const calls = {
      load: () => Engine.load(model),
      'load on the CPU': () => Engine.load(model, { backend: 'cpu' }),
      'load with TensorRT': () => Engine.load(model, { backend: 'tensorrt' }),
      build: () => new Builder().build(model),
      'build, isolated': () => new Builder({ isolation: 'process' }).build(model),
    }
    for (const [name, call] of Object.entries(calls)) {
      t.match(await failureOf(call), lasting, name)
      t.match(await failureOf(call), lasting, `${name}, again`)
    }
    t.match((await capabilities()).addon, { loaded: false }, 'capabilities tell it')
  })
}
