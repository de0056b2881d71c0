import { TensorRTError } from '../../errors.js'
import { type DType, dtypes, isDType } from '../../tensor.js'
import type { OpenCpuOptions } from '../cpu-options.js'

/** The data types that this package and onnxruntime-node both have. */
export const runtimeTypes = 'float32 float16 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string'
  .split(' ')
  .filter(isDType)

export const isRuntimeType = (name: string): name is DType => isDType(name) && runtimeTypes.includes(name)

const foreignTypes = dtypes.filter((dtype) => !isRuntimeType(dtype))

/**
 * What the portable way lacks of what the addon does on the CPU. The one list: errors, docs/architecture.md and tests
 * are of it.
 */
export const lacks = {
  /** Refused when an engine is opened: ERR_TRT_UNSUPPORTED. */
  options: {
    lanes: 'more than 1: inferences run one after another',
    batching: '',
    maxQueue: 'as many requests wait as there are',
    maxQueueBytes: 'likewise',
    'cpu.library': 'it is the library that onnxruntime-node has',
    'cpu.deterministic': '`true`',
    'cpu.customOps': '',
  },
  /** Refused when they are used: ERR_TRT_UNSUPPORTED. */
  members: {
    'inferSync()': '',
    'share()': 'and `Engine.attach`',
    stats: '',
    'counters()': '',
    memory: '',
    "location: 'device'": 'and a DeviceTensor as an input: all tensors are on the host',
    priority: 'of a request other than 1',
    queueTimeoutMs: 'of a request',
    'upload()': '',
    'benchmark()': '',
  },
  /** What goes on, in another way. */
  ways: [
    '`allocate()` and `allocateBytes()` give ordinary memory: it is copied, and nobody minds its use by two inferences at once, so `released()` is fulfilled at once',
    'inputs that a model has a value for have that value: `optionalInputs` is empty',
    '`freeDimensions` takes models below 2 GiB, their weights in other files too',
    'an inference that has begun runs to its end, though all who wait for it give it up',
    `inputs and outputs of ${foreignTypes.slice(0, -1).join(', ')} and ${foreignTypes.at(-1)}: ERR_TRT_DTYPE, since onnxruntime-node has none of them`,
  ],
} as const

export type LackingOption = keyof typeof lacks.options

/** The options that ask for what is lacking. */
function lackingOptions({ given, lanes, cpu }: OpenCpuOptions): readonly LackingOption[] {
  const asked: Record<LackingOption, boolean> = {
    lanes: lanes.lanes !== 1,
    batching: lanes.batching !== undefined,
    maxQueue: given.includes('maxQueue'),
    maxQueueBytes: given.includes('maxQueueBytes'),
    'cpu.library': cpu.library !== undefined,
    'cpu.deterministic': cpu.deterministic,
    'cpu.customOps': (cpu.customOps?.length ?? 0) > 0,
  }
  return (Object.keys(lacks.options) as LackingOption[]).filter((name) => asked[name])
}

/** @throws TensorRTError ERR_TRT_UNSUPPORTED with all that is lacking; `why`: see {@link needsAddon} */
export function refuseLacking(options: OpenCpuOptions, why: string): void {
  const names = lackingOptions(options)
  if (names.length === 0) return
  const subject = names.length === 1 ? `The option ${names.join()} needs` : `The options ${names.join(', ')} need`
  throw new TensorRTError('ERR_TRT_UNSUPPORTED', `${subject} ${addonAndWhy(why)}`, { details: { options: names } })
}

/** For messages about a method that is lacking: what follows on its name. `why`: why the addon is not used. */
export function needsAddon(why: string): string {
  return `needs ${addonAndWhy(why)}`
}

function addonAndWhy(why: string): string {
  return `the addon of node-tensorrt; this engine runs without it, on onnxruntime-node in a worker: ${why}`
}
