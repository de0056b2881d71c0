/**
 * Shapes that TensorRT needs and the CPU does not: those that a caller within this package knows, and the warning of an
 * engine on the CPU if a model has none.
 */
import type { Backend, ModelTensor } from '../backend/backend.js'
import { type DynamicInput, type Shapes, shapesLine } from '../building/shapes.js'
import type { EngineOptions } from './options.js'

/**
 * Key of an option for callers within this package. Shapes: TensorRT builds for them unless `shapes` names the input;
 * the CPU ignores them. `later`: the caller gives shapes itself when TensorRT asks for them.
 */
const tensorrtShapes: unique symbol = Symbol('shapes for TensorRT')

/** The value under that key. */
export type TensorRTShapes = Shapes | 'later' | undefined

/** Returns the options with that key; unchanged without shapes, and where sizes have names that the user fixes. */
export function withTensorRTShapes<O extends EngineOptions>(options: O, shapes: TensorRTShapes): O {
  const isFixed = shapes !== 'later' && options.freeDimensions !== undefined
  return shapes === undefined || isFixed ? options : { ...options, [tensorrtShapes]: shapes }
}

/** Returns the shapes under that key. */
export function tensorrtShapesIn(options: EngineOptions | undefined): TensorRTShapes {
  return (options as { readonly [tensorrtShapes]?: TensorRTShapes } | undefined)?.[tensorrtShapes]
}

/** Returns the shapes to build for: those of the user, which override those of the caller. */
export function shapesToBuild(shapes: EngineOptions['shapes'], known: TensorRTShapes): EngineOptions['shapes'] {
  if (known === undefined || known === 'later' || Array.isArray(shapes)) return shapes
  return { ...known, ...(shapes as Shapes | undefined) }
}

/**
 * Returns what a model that `auto` runs on the CPU needs on TensorRT, or `undefined` if its shapes are static, were
 * given, or are known to the caller.
 */
export function missingShapes(
  { kind, reason, inputs }: Pick<Backend, 'kind' | 'reason' | 'inputs'>,
  known: TensorRTShapes,
): string | undefined {
  if (kind !== 'cpu' || reason === undefined || known === 'later') return undefined
  const dynamic = inputs.filter(
    ({ name, shape, profiles }) => shape.includes(-1) && profiles.length === 0 && known?.[name] === undefined,
  )
  if (dynamic.length === 0) return undefined
  const names = dynamic.map(({ name }) => `'${name}'`).join(', ')
  return `on TensorRT this model needs shapes for ${names}. To fix: add ${shapesLine(dynamic.map(withNames))}`
}

function withNames({ name, shape, dimensionNames }: ModelTensor): DynamicInput {
  return { name, shape: shape.map((dim, axis) => (dim < 0 ? (dimensionNames?.[axis] ?? dim) : dim)) }
}

/** The models of which this process was warned. */
const warned = new Set<string>()

/** Emits a process warning, once per model. `file`: its path, if it has one. */
export function warnOfShapes(needed: string, file: string | undefined): void {
  const key = JSON.stringify([file, needed])
  if (warned.has(key)) return
  warned.add(key)
  const model = file === undefined ? '' : ` (${file})`
  process.emitWarning(`The engine runs on the CPU${model}; ${needed}`, { type: 'TensorRTWarning', code: 'TRT_SHAPES' })
}
