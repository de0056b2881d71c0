import { createRequire } from 'node:module'
import type * as Runtime from 'onnxruntime-node'
import { lacking } from '../../base/remedies.js'
import { messageOf } from '../../base/kinds.js'
import { TensorRTError } from '../../errors.js'
import { copiedBytes, elementCount, Tensor } from '../../tensor.js'
import type { ModelInfo } from '../../onnx/info.js'
import { withDamage } from '../damage.js'
import { withoutPosition } from '../runtime-text.js'
import type { ModelTensor, UnsupportedTensor } from '../backend.js'
import { isRuntimeType, runtimeTypes } from './lacks.js'
import type { Ready, SessionOptions, Start, WireTensor } from './messages.js'
import { packedTexts } from '../../tensor/texts.js'

type OnnxRuntime = typeof Runtime

export function textOf(error: unknown): string {
  return withoutPosition(messageOf(error))
}

/**
 * onnxruntime-common keeps float16 in a Float16Array wherever there is that class (Node 24), and the binding of
 * onnxruntime-node 1.30 cannot read one ("not enough space: expected 8, got 0"). Where there is none, both do with a
 * Uint16Array. This thread, or process, is onnxruntime's alone.
 */
function hideFloat16Array(): void {
  Reflect.deleteProperty(globalThis, 'Float16Array')
}

function loadRuntime(path: string): OnnxRuntime {
  hideFloat16Array()
  try {
    const runtime = createRequire(import.meta.url)(path) as OnnxRuntime
    // Everything that onnxruntime logs as an error arrives as an exception too, so nothing of its log is wanted on
    // stderr.
    runtime.env.logLevel = 'fatal'
    return runtime
  } catch (error) {
    throw lacking(
      'ERR_TRT_NO_ONNXRUNTIME',
      `onnxruntime-node was found at ${path} but cannot be loaded: ${textOf(error)}`,
      {
        cause: error,
      },
    )
  }
}

async function openSession(runtime: OnnxRuntime, { model, options }: Start): Promise<Runtime.InferenceSession> {
  const given = nodeOptions(options)
  // its own option of that name does nothing in onnxruntime-node 1.30
  if (options.freeDimensions !== undefined) {
    const { withFreeDimensions } = await import('../../onnx/free-dimensions.js')
    model = await withFreeDimensions(model, options.freeDimensions)
  }
  try {
    return await (typeof model === 'string'
      ? runtime.InferenceSession.create(model, given)
      : runtime.InferenceSession.create(model, given))
  } catch (error) {
    if (/^Unsupported data type/.test(textOf(error))) throw unsupported(await unknownTensor(model), error)
    const failure = new TensorRTError('ERR_TRT_ONNX_PARSE', `onnxruntime cannot load the model: ${textOf(error)}`, {
      cause: error,
    })
    throw await withDamage(failure, async () => (await import('../../onnx/model.js')).readModel(model))
  }
}

/** `extra` takes names with dots as they are. */
function nodeOptions({ threads, optimization, config }: SessionOptions): Runtime.InferenceSession.SessionOptions {
  return { logSeverityLevel: 4, intraOpNumThreads: threads, graphOptimizationLevel: optimization, extra: config }
}

function unsupported(what: string, cause?: unknown): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_DTYPE',
    `The CPU backend cannot run this model: it has ${what}`,
    cause === undefined ? {} : { cause },
  )
}

/** Which tensor onnxruntime-node has no data type for; it does not say. */
async function unknownTensor(model: Uint8Array | string): Promise<string> {
  const { inputs, outputs } = await inspected(model)
  const found = [...inputs, ...outputs].find(({ dtype }) => !isRuntimeType(dtype))
  const which = found === undefined ? 'a tensor' : `${JSON.stringify(found.name)} of type ${found.dtype}`
  return `${which}, which onnxruntime-node does not take or give; it does ${runtimeTypes.join(', ')}`
}

/** What is known of an input or output, or that no Tensor can hold it. */
function infoOf(
  metadata: Runtime.InferenceSession.ValueMetadata,
  use: UnsupportedTensor['use'],
): ModelTensor | UnsupportedTensor {
  const { name } = metadata
  if (!metadata.isTensor) return { name, use, type: noTensor }
  const dtype: string = metadata.type
  if (!isRuntimeType(dtype)) return { name, use, type: dtype }
  const shape = metadata.shape.map((dim) => (typeof dim === 'number' ? dim : -1))
  const dimensionNames = metadata.shape.map((dim) => (typeof dim === 'string' && dim !== '' ? dim : undefined))
  return { name, dtype, shape, dimensionNames, profiles: [], format: 'linear' }
}

/** What onnxruntime-node says of sequences, maps and others: that they are none. */
const noTensor = 'no tensor'

/** With what the model says that they are. */
async function namedKinds(found: readonly UnsupportedTensor[], model: Start['model']): Promise<UnsupportedTensor[]> {
  if (!found.some(({ type }) => type === noTensor)) return [...found]
  const { inputs, outputs } = await inspected(model)
  return found.map((tensor) => {
    const info = (tensor.use === 'input' ? inputs : outputs).find(({ name }) => name === tensor.name)
    return tensor.type !== noTensor || info === undefined ? tensor : { ...tensor, type: info.kind }
  })
}

async function inspected(model: Start['model']): Promise<ModelInfo> {
  const [{ inspectModel }, { readModel }] = await Promise.all([
    import('../../onnx/info.js'),
    import('../../onnx/model.js'),
  ])
  return inspectModel(await readModel(model))
}

/** A model that onnxruntime-node has loaded. */
export class Model {
  readonly #runtime: OnnxRuntime
  readonly #session: Runtime.InferenceSession

  constructor(runtime: OnnxRuntime, session: Runtime.InferenceSession) {
    this.#runtime = runtime
    this.#session = session
  }

  static async open(start: Start): Promise<Model> {
    const runtime = loadRuntime(start.runtime)
    return new Model(runtime, await openSession(runtime, start))
  }

  async describe(model: Start['model']): Promise<Ready> {
    const description = `onnxruntime-node ${this.#runtime.env.versions.node ?? ''} on the CPU`
    const inputs = this.#session.inputMetadata.map((metadata) => infoOf(metadata, 'input'))
    const outputs = this.#session.outputMetadata.map((metadata) => infoOf(metadata, 'output'))
    const [known, other] = [
      (info: object): info is ModelTensor => 'dtype' in info,
      (info: object): info is UnsupportedTensor => 'use' in info,
    ]
    return {
      type: 'ready',
      description,
      inputs: inputs.filter(known),
      outputs: outputs.filter(known),
      unsupported: await namedKinds([...inputs, ...outputs].filter(other), model),
    }
  }

  async run(inputs: readonly WireTensor[], wanted: readonly string[]): Promise<WireTensor[]> {
    const feeds = Object.create(null) as Record<string, Runtime.Tensor>
    for (const { name, dtype, shape, bytes } of inputs) {
      const { data } = Tensor.fromBytes(dtype, bytes, shape)
      feeds[name] = new this.#runtime.Tensor(dtype as 'float32', data as Float32Array, shape)
    }
    const results = await this.#session.run(feeds, wanted)
    return wanted.map((name) => wireTensor(name, results[name]))
  }

  close(): Promise<void> {
    return this.#session.release()
  }
}

function bytesOf({ type, dims, data }: Runtime.Tensor): ArrayBuffer {
  if (elementCount(dims) === 0) return new ArrayBuffer(0)
  return type === 'string' ? packedTexts(data as string[]).buffer : copiedBytes(data as NodeJS.TypedArray)
}

/** A copy, because onnxruntime's own memory is freed when this thread ends. */
function wireTensor(name: string, tensor: Runtime.Tensor | undefined): WireTensor {
  if (tensor === undefined)
    throw new TensorRTError('ERR_TRT_EXECUTION', `onnxruntime gave no output ${JSON.stringify(name)}`)
  const dtype: string = tensor.type
  if (!isRuntimeType(dtype)) throw unsupported(`${JSON.stringify(name)} of type ${dtype}`)
  return { name, dtype, shape: tensor.dims, bytes: bytesOf(tensor) }
}
