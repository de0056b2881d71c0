import type { BenchmarkOptions } from '../../benchmark/types.js'
import { onFile, readOrdinary } from '../../base/files.js'
import type { Engine } from '../../engine.js'
import { TensorRTError } from '../../errors.js'
import { byteSize, copiedBytes, Tensor } from '../../tensor.js'
import type { ExecSettings } from './settings.js'
import { takenBy } from './shapes.js'
import { isModern, type Target } from './target.js'

/** What is measured, and what is to be said of it. */
export interface Measuring {
  readonly options: BenchmarkOptions
  readonly warnings: readonly string[]
}

/** trtexec 11 has other defaults than 10, and options that say the opposite. */
const modernDefaults = { transfers: false, cudaGraph: true, spinWait: true } as const
const saysDefault = {
  modern: { '--noDataTransfers': 'transfers', '--useSpinWait': 'spinWait', '--useCudaGraph': 'cudaGraph' },
  classic: { '--includeDataTransfers': 'transfers', '--noSpinWait': 'spinWait', '--noCudaGraph': 'cudaGraph' },
} as const

/** The options of engine.benchmark() with the defaults of trtexec of that major; on the CPU, with those of 10. */
export function measuringOf(
  { benchmark, exports, dumps, given }: ExecSettings,
  target: Pick<Target, 'kind' | 'version' | 'name'> | undefined,
): Measuring {
  const modern = target !== undefined && isModern(target)
  const idle = Object.keys(saysDefault[modern ? 'modern' : 'classic']).filter((name) => given.has(name))
  const layers = exports.profile !== undefined || exports.layerInfo !== undefined || dumps.profile || dumps.layerInfo
  const outputs = exports.output !== undefined || dumps.output
  return {
    options: {
      ...(modern && modernDefaults),
      ...benchmark,
      layers: layers || undefined,
      outputs: outputs || undefined,
    },
    warnings: idle.map(
      (name) => `${name} has no effect: it is the default of trtexec for ${target?.name ?? 'the CPU'}`,
    ),
  }
}

/**
 * What names the inputs: only an engine knows them. @throws TensorRTError ERR_TRT_UNKNOWN_INPUT, ERR_TRT_FILE,
 * ERR_TRT_SHAPE
 */
export async function inputsOf(
  engine: Pick<Engine, 'inputs' | 'inputNames'>,
  { shapes, loadInputs, benchmark }: Pick<ExecSettings, 'shapes' | 'loadInputs' | 'benchmark'>,
): Promise<Pick<BenchmarkOptions, 'inputs' | 'shapes'>> {
  const names = engine.inputNames
  const taken = Object.fromEntries(takenBy(shapes, names))
  const files = takenBy(Object.fromEntries(loadInputs), names)
  const tensors: Record<string, Tensor> = {}
  for (const [name, file] of files)
    tensors[name] = await rawTensor(engine, name, file, { shape: taken[name], profile: benchmark.profile ?? 0 })
  const others = Object.entries(taken).filter(([name]) => !files.has(name))
  return {
    inputs: files.size > 0 ? tensors : undefined,
    shapes: others.length > 0 ? Object.fromEntries(others) : undefined,
  }
}

/** A file of raw bytes, as `ndarray.tofile` writes it, for an input of that shape. */
async function rawTensor(
  engine: Pick<Engine, 'inputs'>,
  name: string,
  file: string,
  { shape: given, profile }: { readonly shape: readonly number[] | undefined; readonly profile: number },
): Promise<Tensor> {
  const info = engine.inputs[name]
  if (info === undefined) throw new TensorRTError('ERR_TRT_UNKNOWN_INPUT', `The model has no input '${name}'`)
  const shape = given ?? info.profiles[profile]?.opt ?? info.shape
  if (shape.some((size) => size < 0))
    throw new TensorRTError(
      'ERR_TRT_SHAPES_REQUIRED',
      `Input '${name}' is dynamic: give the shape of ${file} by --shapes=${name}:1x3x224x224`,
    )
  const data = await onFile('read', file, () => readOrdinary(file))
  const bytes = byteSize(info.dtype, shape)
  if (data.length !== bytes)
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected ${bytes} bytes in ${file} for input '${name}' (${info.dtype} ${shape.join('x')}) but found ${data.length}`,
    )
  return Tensor.fromBytes(info.dtype, copiedBytes(data), shape)
}
