import { dirname } from 'node:path'
import { loadAddon } from '../backend/native.js'
import { bytesIn } from '../base/bytes.js'
import { openFile, readOrdinary } from '../base/files.js'
import { localPath } from '../base/source.js'
import { isUrl } from '../base/kinds.js'
import type { EngineSource } from '../engine/source.js'
import { reworded, TensorRTError } from '../errors.js'
import { declaredInputs } from '../onnx/declared-inputs.js'
import {
  loadExternalData,
  type ModelProto,
  openSizes,
  type ValueInfo,
  inspectModel,
  writeModel,
} from '../onnx/index.js'
import { parseModel } from '../onnx/model.js'
import { describeValue } from '../onnx/info.js'
import { looksLikeOnnx } from '../base/file-kinds.js'
import { isFixed, type Steps } from './steps.js'

/** An input of pictures whose sizes were opened. */
export interface OpenedSizes {
  readonly input: string
  readonly from: readonly (number | string)[]
  readonly to: readonly (number | string)[]
  /** A range of shapes that fits the steps, to build for TensorRT. */
  readonly shapes: { readonly min: readonly number[]; readonly opt: readonly number[]; readonly max: readonly number[] }
}

export interface SourceToLoad {
  readonly source: EngineSource
  /** Nothing where the model is loaded as it is. */
  readonly opened?: OpenedSizes | undefined
}

/** In a longer file nobody looks before it is loaded; what is wrong with its sizes is then found after that. */
const mostBytes = 2 ** 29

/**
 * What is to be loaded: the model as it is, or where its file fixes pictures at less than the steps are for, with its
 * sizes opened; told in the log.
 * @throws TensorRTError ERR_TRT_SHAPE where its graph holds the size
 */
export async function sizesOpened(source: EngineSource, steps: Steps): Promise<SourceToLoad> {
  const { minSide } = steps
  const path = pathOf(source)
  if (minSide === undefined) return { source }
  const bytes = path === undefined ? bytesOf(source) : await bytesAt(path)
  const info = bytes && smallInput(bytes, steps, minSide)
  if (bytes === undefined || info === undefined) return { source }
  const model = parseModel(bytes, path)
  if (path !== undefined) await loadExternalData(model, dirname(path))
  const changed = openedModel(model, info, minSide)
  const to = inspectModel(changed).inputs.find(({ name }) => name === info.name)?.shape ?? []
  const opened = { input: info.name, from: info.shape ?? [], to, shapes: shapesFor(to, steps) }
  tell(openedText(opened))
  return { source: writeModel(changed), opened }
}

/** For people: which sizes were opened. */
export function openedText({ input, from, to }: OpenedSizes): string {
  return `Input ${input} is fixed at ${from.join('x')} in the model, where little is found: its sizes are opened, ${to.join('x')}`
}

/** What an error says about a model whose sizes were opened here, and for which TensorRT then wants shapes. */
export function withShapes(error: unknown, opened: OpenedSizes | undefined): unknown {
  if (opened === undefined || !(error instanceof TensorRTError) || error.code !== 'ERR_TRT_SHAPES_REQUIRED')
    return error
  const range = Object.entries(opened.shapes).map(([end, shape]) => `${end}: [${shape.join(', ')}]`)
  const remedy = `give the sizes to build for, such as shapes: { ${JSON.stringify(opened.input)}: { ${range.join(', ')} } }`
  return reworded(error, `${error.message}. ${openedText(opened)}: ${remedy}`, { remedy })
}

/**
 * From the least to the longest side; most pictures are wider than high, or the other way round, and the best shape is
 * in between.
 */
function shapesFor(to: readonly (number | string)[], { size, maxSide, minSide = 1 }: Steps): OpenedSizes['shapes'] {
  const of = (width: number, height: number): number[] => {
    const [row, column] = to[1] === 'height' ? [1, 2] : [2, 3]
    return to.map((dim, axis) => (typeof dim === 'number' ? dim : axis === row ? height : axis === column ? width : 1))
  }
  if (size !== undefined && isFixed(size))
    return { min: of(size.width, size.height), opt: of(size.width, size.height), max: of(size.width, size.height) }
  const unit = size?.multipleOf ?? 1
  const rounded = (side: number): number => Math.ceil(side / unit) * unit
  const [least, best, most] = [rounded(Math.min(minSide, unit)), rounded(640), rounded(maxSide)]
  return { min: of(least, least), opt: of(best, best), max: of(most, most) }
}

/** Every TensorRT's listener hears it; without the addon nobody can listen. */
function tell(text: string): void {
  try {
    loadAddon().tellLog(information, `node-tensorrt: ${text}`)
  } catch {
    // a system that has no addon has no onLog()
  }
}

/** The log level "info". */
const information = 3

function pathOf(source: EngineSource): string | undefined {
  if (typeof source !== 'string' && !isUrl(source)) return undefined
  try {
    return localPath(source, 'source')
  } catch {
    // who loads it says what is wrong
    return undefined
  }
}

function bytesOf(source: EngineSource): Uint8Array | undefined {
  const bytes = bytesIn(source)
  return bytes !== undefined && looksLikeOnnx(bytes) ? bytes : undefined
}

/** The bytes of an ONNX file; nothing of any other, and of one that cannot be read: who loads it says why. */
async function bytesAt(path: string): Promise<Uint8Array | undefined> {
  try {
    await using file = await openFile(path)
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(new Uint8Array(8), 0, 8, 0)
    return bytesRead === 8 && looksLikeOnnx(buffer) && size <= mostBytes ? await readOrdinary(path) : undefined
  } catch {
    return undefined
  }
}

/** The input of pictures, where it is fixed at less. */
function smallInput(bytes: Uint8Array, { checked, layout }: Steps, minSide: number): ValueInfo | undefined {
  const [info, ...others] = declaredInputs(bytes)
    .map(describeValue)
    .filter(({ shape }) => shape?.length === 4)
  if (info?.shape === undefined || others.length > 0) return undefined
  const channels = checked.order === 'GRAY' ? 1 : 3
  const [sides] = [
    { name: 'NCHW', axis: 1, sides: info.shape.slice(2) },
    { name: 'NHWC', axis: 3, sides: info.shape.slice(1, 3) },
  ].flatMap(({ name, axis, sides }) => (info.shape?.[axis] === channels && (layout ?? name) === name ? [sides] : []))
  if (sides === undefined) return undefined
  return sides.some((side) => typeof side === 'number' && side >= 0 && side < minSide) ? info : undefined
}

/** With the number of pictures, where that can be. @throws TensorRTError ERR_TRT_SHAPE */
function openedModel(model: ModelProto, { name: input, shape = [] }: ValueInfo, minSide: number): ModelProto {
  try {
    return openSizes(model, { input })
  } catch (error) {
    if (!isShapeError(error)) throw error
  }
  try {
    return openSizes(model, { input, batch: false })
  } catch (error) {
    if (!isShapeError(error)) throw error
    const message = `Expected at least ${minSide} x ${minSide} for pictures but the model fixes its input ${JSON.stringify(input)} at [${shape.join(', ')}], in which little is found. ${error.message}`
    throw reworded(error, `${message}. Export it with dynamic axes, or for pictures of the size that it is to see`)
  }
}

function isShapeError(error: unknown): error is TensorRTError {
  return error instanceof TensorRTError && error.code === 'ERR_TRT_SHAPE'
}
