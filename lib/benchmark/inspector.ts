import type { TensorRTDType } from '../tensor.js'
import type { EngineLayer, LayerPrecision } from './types.js'

/** Precisions by the names that builder options have. */
export const precisionTypes = {
  fp32: 'float32',
  fp16: 'float16',
  bf16: 'bfloat16',
  int8: 'int8',
  fp8: 'float8e4m3',
  int4: 'int4',
  fp4: 'float4e2m1',
} as const satisfies Record<string, TensorRTDType>

/**
 * A precision that {@link Engine.layers} looks for, by the names that {@link BuilderOptions.precision} has, and `fp4`.
 * @useDeclaredType
 */
export type ExpectedPrecision = keyof typeof precisionTypes

/** What a layer reads or gives. */
export interface LayerTensor {
  readonly name: string
  readonly shape: readonly number[]
}

/** A layer with what it reads and gives; both are empty where the document does not tell. */
export interface ConnectedLayer extends EngineLayer {
  readonly inputs: readonly LayerTensor[]
  readonly outputs: readonly LayerTensor[]
}

/**
 * The layers of an inspector's document. TensorRT 10 writes format and type of a tensor in one field,
 * `Format/Datatype`; 11 has a field for the type alone. Without detailed verbosity a layer is but its name. Nothing is
 * guessed: what is not as documented has the precision `unknown`.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/engine-tools.html
 * @see https://docs.nvidia.com/deeplearning/tensorrt/11.3.0/api/migration/tensorrt-10x-to-11x-IEngineInspector.html
 */
export function inspectedLayers(document: string): readonly EngineLayer[] {
  return layersOf(document).map(layerOf)
}

/** The same with what is between them. */
export function connectedLayers(document: string): readonly ConnectedLayer[] {
  const tensors = (layer: unknown, field: string): LayerTensor[] => listOf(fieldOf(layer, field)).flatMap(tensorOf)
  return layersOf(document).map((layer) => ({
    ...layerOf(layer),
    inputs: tensors(layer, 'Inputs'),
    outputs: tensors(layer, 'Outputs'),
  }))
}

const layersOf = (document: string): readonly unknown[] => listOf(fieldOf(parsed(document), 'Layers'))

function tensorOf(tensor: unknown): LayerTensor[] {
  const name = fieldOf(tensor, 'Name')
  return typeof name === 'string' ? [{ name, shape: listOf(fieldOf(tensor, 'Dimensions')).map(Number) }] : []
}

function parsed(document: string): unknown {
  try {
    return JSON.parse(document)
  } catch {
    return undefined
  }
}

function layerOf(layer: unknown): EngineLayer {
  if (typeof layer === 'string') return { name: layer, type: 'unknown', precision: 'unknown' }
  const [name, type] = [fieldOf(layer, 'Name'), fieldOf(layer, 'LayerType')]
  return {
    name: typeof name === 'string' ? name : '',
    type: typeof type === 'string' ? type : 'unknown',
    precision: precisionOf(layer),
  }
}

/**
 * That of the first input, which decides over the kernel; of the first output where there is no input. NVIDIA's Engine
 * Explorer has it so too.
 */
function precisionOf(layer: unknown): LayerPrecision {
  const [input] = listOf(fieldOf(layer, 'Inputs'))
  const [output] = listOf(fieldOf(layer, 'Outputs'))
  return typeOf(input ?? output)
}

function typeOf(tensor: unknown): LayerPrecision {
  // the half of "Format/Datatype" that is the type, and its name among the I/O tensors: the documentation spells it
  // both ways
  for (const field of ['Format/Datatype', 'Datatype', 'DataType']) {
    const text = fieldOf(tensor, field)
    if (typeof text === 'string') return typeIn(text)
  }
  return 'unknown'
}

/** The one type that a text names: "Half", "Thirty-two wide channel vectorized row major Int8 format." */
function typeIn(text: string): LayerPrecision {
  const words = text.toLowerCase().split(/[^a-z0-9]+/)
  const named = new Set(words.flatMap((word) => typeWords[word] ?? []))
  const [type] = named
  return named.size === 1 && type !== undefined ? type : 'unknown'
}

/** TensorRT's words for types, in lower case. */
const typeWords: Readonly<Partial<Record<string, TensorRTDType>>> = Object.assign(
  Object.create(null) as object,
  {
    fp32: 'float32',
    float: 'float32',
    fp16: 'float16',
    half: 'float16',
    bf16: 'bfloat16',
    bfloat16: 'bfloat16',
    int8: 'int8',
    fp8: 'float8e4m3',
    int4: 'int4',
    fp4: 'float4e2m1',
    int32: 'int32',
    int64: 'int64',
    uint8: 'uint8',
    bool: 'bool',
  } as const,
)

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}
