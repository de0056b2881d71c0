import { expected, TensorRTError } from '../errors.js'
import type { ElementType } from '../onnx/element-type.js'
import { inferTypes } from '../onnx/inference.js'
import { inspectModel } from '../onnx/info.js'
import type { ModelProto, ValueInfoProto } from '../onnx/onnx_pb.js'
import { type Dim, valueInfo } from '../onnx/value-info.js'
import type { Shaped } from './families.js'
import type { StepGraph } from './graph.js'

/** An output of the model, with what is known of it. */
export interface Output extends Shaped {
  readonly name: string
  readonly dtype: string
}

/**
 * The outputs, or those with these names, in their order. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a name
 * that is none
 */
export function outputsOf(model: ModelProto, wanted: readonly string[] | undefined): Output[] {
  const types = inferTypes(model)
  const all = inspectModel(model).outputs.map(({ name, dtype, shape }): Output => {
    const inferred = types.get(name)?.shape
    const declared = shape?.map((dim) => (typeof dim === 'number' && dim < 0 ? undefined : dim))
    const sides =
      declared !== undefined && declared.length === inferred?.length
        ? declared.map((dim, i) => (typeof dim === 'number' ? dim : (inferred[i] ?? dim)))
        : (inferred ?? declared)
    return { name, dtype, shape: sides, isWhole: /^u?int/.test(dtype) }
  })
  if (wanted === undefined) return all
  return wanted.map((name) => {
    const found = all.find((output) => output.name === name)
    if (found === undefined)
      throw expected(`one of the model's outputs (${all.map((output) => output.name).join(', ')})`, 'outputs', name)
    return found
  })
}

export function shapesText(outputs: readonly Output[]): string {
  return outputs.map(({ name, shape }) => `${name} [${shape?.map((side) => side ?? '?').join(', ') ?? '?'}]`).join(', ')
}

export function shapeError(message: string): TensorRTError {
  return new TensorRTError('ERR_TRT_SHAPE', message)
}

/** What is expected and what the model has. */
export function wrongOutputs(wanted: string, outputs: readonly Output[]): TensorRTError {
  return shapeError(`Expected ${wanted} but the model gives ${shapesText(outputs)}`)
}

export interface Given {
  /** The value that it is. */
  readonly value: string
  readonly dtype: ElementType
  readonly shape: readonly Dim[]
}

/**
 * Puts outputs in the place of others: those that are not among `taken` stay. A new one may have the name of what it is
 * computed from, or of any other value that a node gives: that gets another name.
 */
export function replaceOutputs(
  graph: StepGraph,
  taken: readonly string[],
  given: Readonly<Record<string, Given>>,
): void {
  const { editor } = graph
  const staying = editor.graph.output.filter(({ name }) => !taken.includes(name))
  const clash = staying.find(({ name }) => name in given)
  if (clash !== undefined) throw expected('a prefix whose names no output of the model has', 'prefix', clash.name)
  editor.dropOutputs()
  const protos: ValueInfoProto[] = [...staying]
  /** Of values that have another name now. */
  const names = new Map<string, string>()
  for (const { name } of staying) editor.addOutput(name, 'float32')
  for (const [name, { value, dtype, shape }] of Object.entries(given)) {
    const moved = freed(graph, name)
    const now = value === name && moved !== undefined ? moved : (names.get(value) ?? value)
    if (moved !== undefined) names.set(name, moved)
    nameIt(graph, now, name)
    editor.addOutput(name, dtype)
    protos.push(valueInfo(name, dtype, shape))
  }
  editor.graph.output = protos
}

/**
 * Gives a value the name of an output. One that nobody reads gets it itself: TensorRT takes bytes from a Cast alone.
 */
function nameIt({ editor }: StepGraph, value: string, name: string): void {
  const producer = editor.producer(value)
  if (producer === undefined || editor.uses(value).length > 0 || editor.isOutput(value))
    editor.addNode('Identity', [value], {}, { output: name })
  else editor.renameOutput(producer, producer.output.indexOf(value), name)
}

/** Gives a value that has this name another one. @returns that */
function freed(graph: StepGraph, name: string): string | undefined {
  const { editor } = graph
  if (editor.isInput(name) || editor.initializer(name) !== undefined)
    throw expected('a prefix whose names are no inputs or weights of the model', 'prefix', name)
  const producer = editor.producer(name)
  if (producer === undefined) return undefined
  const other = editor.unused(`${name}_before`)
  editor.renameOutput(producer, producer.output.indexOf(name), other)
  editor.replaceUses(name, other)
  return other
}

/** The batch as the output has it. */
export function batchOf({ shape }: Output): Dim {
  return shape?.[0] ?? 'N'
}
