// node dist/test/gpu/references.js DIR: writes the models of test/gpu and what onnxruntime computes with them on the CPU.
// It runs on an ordinary machine, because onnxruntime-node is not part of the kit. onnxruntime is called directly: an
// engine of this package must not decide what is expected of another one.
import { mkdirSync } from 'node:fs'
import * as ort from 'onnxruntime-node'
import type { Shapes } from '../../lib/index.js'
import { type DType, Tensor } from '../../lib/tensor.js'
import { randomTensor, range } from '../support/values.js'
import { type Case, writeReference } from './cases.js'
import * as models from './small-models.js'

type Tensors = Readonly<Record<string, Tensor>>

const source = `onnxruntime ${ort.env.versions.node ?? ort.env.versions.common} on the CPU`

async function outputsOf(model: Uint8Array, inputs: Tensors): Promise<Tensors> {
  const session = await ort.InferenceSession.create(model, { executionProviders: ['cpu'] })
  const feeds = Object.entries(inputs).map(([name, { dtype, data, shape }]) => [
    name,
    new ort.Tensor(dtype as 'float32', data as Float32Array, shape),
  ])
  const outputs = await session.run(Object.fromEntries(feeds))
  await session.release()
  return Object.fromEntries(
    Object.entries(outputs).map(([name, { type, data, dims }]) => [
      name,
      new Tensor(type as DType, data as never, dims) as Tensor,
    ]),
  )
}

async function write(
  folder: string,
  name: string,
  model: Uint8Array,
  shapes: Shapes | readonly Shapes[],
  inputs: Readonly<Record<string, Tensors>>,
): Promise<void> {
  const cases: Record<string, Case> = {}
  for (const [label, each] of Object.entries(inputs))
    cases[label] = { inputs: each, outputs: await outputsOf(model, each) }
  writeReference(folder, { name, model, source, shapes, cases })
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Expected a folder for the references.')
mkdirSync(folder, { recursive: true })

await write(
  folder,
  'relu',
  models.relu(),
  { x: range([1, 4], [2, 4], [8, 4]) },
  { rows: { x: randomTensor([2, 4], 1) } },
)
