import { dirname } from 'node:path'
import type { ProfileShapes } from '../backend/backend.js'
import { loadAddon } from '../backend/native.js'
import { bytesIn } from '../base/bytes.js'
import { headOfFile, openFile, readOrdinary } from '../base/files.js'
import { localPath } from '../base/source.js'
import { isUrl } from '../base/kinds.js'
import type { Shapes } from '../building/shapes.js'
import type { EngineSource } from '../engine/source.js'
import { reworded, TensorRTError } from '../errors.js'
import { declaredInputs, declaredValues } from '../onnx/declared-inputs.js'
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
import type { ValueInfoProto } from '../onnx/onnx_pb.js'
import { looksLikeOnnx } from '../base/file-kinds.js'
import { isFixed, type Steps } from './steps.js'

/** An input of pictures whose sizes were opened. */
export interface OpenedSizes {
  readonly input: string
  readonly from: readonly (number | string)[]
  readonly to: readonly (number | string)[]
}

export interface SourceToLoad {
  readonly source: EngineSource
  /** Nothing where the model is loaded as it is. */
  readonly opened?: OpenedSizes | undefined
  /** A range that fits the steps, for which TensorRT builds; only for an input with dynamic sizes. */
  readonly shapes?: Shapes | undefined
}

/** In a longer file nobody looks before it is loaded; what is wrong with its sizes is then found after that. */
const mostBytes = 2 ** 29

/**
 * What is to be loaded: the model as it is, or where its file fixes pictures at less than the steps are for, with its
 * sizes opened; told in the log. `maxBatch`: the most pictures of a batch on TensorRT.
 * @throws TensorRTError ERR_TRT_SHAPE where its graph holds the size
 */
export async function sizesOpened(source: EngineSource, steps: Steps, maxBatch = 1): Promise<SourceToLoad> {
  const { minSide } = steps
  const path = pathOf(source)
  const bytes = path === undefined ? bytesOf(source) : minSide === undefined ? undefined : await bytesAt(path)
  const inputs = bytes === undefined ? await inputsAt(path) : declaredInputs(bytes)
  const found = pictureInput(inputs.map(describeValue), steps)
  if (found === undefined) return { source }
  const { info, layout, sides } = found
  const isSmall = (side: number | string): boolean => typeof side === 'number' && side >= 0 && side < (minSide ?? 0)
  const shapesOf = (shape: Dims): Shapes => ({ [info.name]: shapesFor(shape, layout, steps, maxBatch) })
  if (bytes === undefined || minSide === undefined || !sides.some(isSmall))
    return found.isDynamic ? { source, shapes: shapesOf(info.shape) } : { source }
  const model = parseModel(bytes, path)
  if (path !== undefined) await loadExternalData(model, dirname(path))
  const changed = openedModel(model, info, minSide)
  const to = inspectModel(changed).inputs.find(({ name }) => name === info.name)?.shape ?? []
  const opened = { input: info.name, from: info.shape, to }
  tell(openedText(opened))
  return { source: writeModel(changed), opened, shapes: shapesOf(to) }
}

/** For people: which sizes were opened. */
export function openedText({ input, from, to }: OpenedSizes): string {
  return `Input ${input} is fixed at ${from.join('x')} in the model, where little is found: its sizes are opened, ${to.join('x')}`
}

/**
 * From the least to the longest side; most pictures are wider than high, or the other way round, and the best shape is
 * in between. A batch dimension ranges from 1 to `maxBatch`.
 */
function shapesFor(
  dims: Dims,
  layout: 'NCHW' | 'NHWC',
  { size, maxSide, minSide = 1 }: Steps,
  maxBatch: number,
): ProfileShapes {
  const of = (batch: number, width: number, height: number): number[] => {
    const sizes = layout === 'NCHW' ? [batch, 0, height, width] : [batch, height, width, 0]
    return dims.map((dim, axis) => (isStatic(dim) ? dim : sizes[axis]!))
  }
  if (size !== undefined && isFixed(size)) {
    const { width, height } = size
    const most = of(maxBatch, width, height)
    return { min: of(1, width, height), opt: most, max: most }
  }
  const unit = size?.multipleOf ?? 1
  const rounded = (side: number): number => Math.ceil(side / unit) * unit
  const most = rounded(Math.min(maxSide, size?.mostLongSide ?? maxSide))
  const [least, best] = [rounded(Math.min(minSide, unit, most)), Math.min(rounded(640), most)]
  return { min: of(1, least, least), opt: of(maxBatch, best, best), max: of(maxBatch, most, most) }
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

type Dims = readonly (number | string)[]

const isStatic = (dim: number | string): dim is number => typeof dim === 'number' && dim >= 0

/** The inputs of an ONNX file, of which only the heads of its parts are read; none of anything else. */
async function inputsAt(path: string | undefined): Promise<readonly ValueInfoProto[]> {
  const head = path === undefined ? undefined : await headOfFile(path).catch(() => undefined)
  if (path === undefined || head === undefined || !looksLikeOnnx(head)) return []
  return (await declaredValues(path)).flatMap(({ use, value }) => (use === 'input' ? [value] : []))
}

interface FoundInput {
  readonly info: ValueInfo & { readonly shape: Dims }
  readonly layout: 'NCHW' | 'NHWC'
  /** Height and width. */
  readonly sides: Dims
  readonly isDynamic: boolean
}

/** The one input of pictures; a dynamic one, where an old file has weights among its inputs. */
function pictureInput(inputs: readonly ValueInfo[], { checked, layout }: Steps): FoundInput | undefined {
  const pictures = inputs.flatMap((info) => (info.shape?.length === 4 ? [{ ...info, shape: info.shape }] : []))
  const dynamic = pictures.filter(({ shape }) => !shape.every(isStatic))
  const [info, ...others] = dynamic.length > 0 ? dynamic : pictures
  if (info === undefined || others.length > 0) return undefined
  const channels = checked.order === 'GRAY' ? 1 : 3
  const found = (['NCHW', 'NHWC'] as const).find(
    (each) => (layout ?? each) === each && info.shape[each === 'NCHW' ? 1 : 3] === channels,
  )
  if (found === undefined) return undefined
  const sides = found === 'NCHW' ? info.shape.slice(2) : info.shape.slice(1, 3)
  return { info, layout: found, sides, isDynamic: dynamic.length > 0 }
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
