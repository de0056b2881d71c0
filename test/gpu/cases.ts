// Models and reference outputs in the folder that references.js writes: NAME.onnx, NAME.json, and NAME.bin with the
// bytes of all tensors.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Shapes } from '../../lib/index.js'
import { type DType, Tensor } from '../../lib/tensor.js'

/** Location of a tensor in NAME.bin. */
interface StoredTensor {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly at: number
  readonly bytes: number
}

type Stored = Readonly<Record<string, StoredTensor>>

/** NAME.json. */
interface Index {
  /** The library that computed the outputs. */
  readonly source: string
  readonly shapes: Shapes | readonly Shapes[]
  readonly cases: Readonly<Record<string, { readonly inputs: Stored; readonly outputs: Stored }>>
}

/** An inference and the outputs of onnxruntime. */
export interface Case {
  readonly inputs: Readonly<Record<string, Tensor>>
  readonly outputs: Readonly<Record<string, Tensor>>
}

/** A model with its reference outputs. */
export interface Reference {
  readonly name: string
  readonly model: Uint8Array
  readonly source: string
  /** Optimization profiles to build with. */
  readonly shapes: Shapes | readonly Shapes[]
  readonly cases: Readonly<Record<string, Case>>
}

export function readReference(folder: string, name: string): Reference {
  const index = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Index
  const all = readFileSync(join(folder, `${name}.bin`))
  const tensorOf = ({ dtype, shape, at, bytes }: StoredTensor): Tensor =>
    Tensor.fromBytes(dtype, new Uint8Array(all.subarray(at, at + bytes)), shape)
  const tensorsOf = (stored: Stored): Record<string, Tensor> =>
    Object.fromEntries(Object.entries(stored).map(([name, each]) => [name, tensorOf(each)]))
  const cases = Object.entries(index.cases).map(([name, { inputs, outputs }]): [string, Case] => [
    name,
    { inputs: tensorsOf(inputs), outputs: tensorsOf(outputs) },
  ])
  const model = new Uint8Array(readFileSync(join(folder, `${name}.onnx`)))
  return { name, model, source: index.source, shapes: index.shapes, cases: Object.fromEntries(cases) }
}

export function writeReference(folder: string, { name, model, source, shapes, cases }: Reference): void {
  const pieces: Uint8Array[] = []
  let at = 0
  const store = (tensors: Readonly<Record<string, Tensor>>): Stored =>
    Object.fromEntries(
      Object.entries(tensors).map(([name, tensor]) => {
        const { buffer, byteOffset, byteLength } = tensor.data as NodeJS.TypedArray
        pieces.push(new Uint8Array(buffer, byteOffset, byteLength))
        const stored = { dtype: tensor.dtype, shape: [...tensor.shape], at, bytes: byteLength }
        at += byteLength
        return [name, stored]
      }),
    )
  const stored = Object.entries(cases).map(([name, { inputs, outputs }]) => [
    name,
    { inputs: store(inputs), outputs: store(outputs) },
  ])
  writeFileSync(join(folder, `${name}.onnx`), model)
  writeFileSync(join(folder, `${name}.bin`), Buffer.concat(pieces))
  writeFileSync(
    join(folder, `${name}.json`),
    JSON.stringify({ source, shapes, cases: Object.fromEntries(stored) }, null, 1),
  )
}

/** The case of that name. */
export function caseOf(reference: Reference, name: string): Case {
  const found = reference.cases[name]
  if (found === undefined) throw new Error(`${reference.name} has no case '${name}': run references.js again.`)
  return found
}
