/**
 * The thread (or process, see cpu-carrier.ts) in which onnxruntime-node runs one model, because its `run` blocks the thread that calls it.
 * @see https://github.com/microsoft/onnxruntime/issues/19611
 */
import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import type * as Runtime from 'onnxruntime-node'
import { lacking } from '../base/remedies.js'
import { toWire, type WireError } from '../base/wire.js'
import { TensorRTError } from '../errors.js'
import { copiedBytes, type DType, elementCount, isDType, Tensor } from '../tensor.js'
import type { ModelTensor, UnsupportedTensor } from './backend.js'
import { enterNative, leaveNative, newGuard } from './native-guard.js'

/** What the worker is started with. */
export interface Start {
  /** The resolved entry file of onnxruntime-node. */
  readonly runtime: string
  readonly model: Uint8Array | string
}

/** A tensor on its way between threads. Its buffer is transferred. */
export interface WireTensor {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly bytes: ArrayBuffer
}

export type Request =
  | { readonly type: 'run'; readonly id: number; readonly inputs: readonly WireTensor[]; readonly wanted: readonly string[] }
  | { readonly type: 'close' }

export type Reply =
  | {
      readonly type: 'ready'
      readonly description: string
      readonly inputs: ModelTensor[]
      readonly outputs: ModelTensor[]
      readonly unsupported: UnsupportedTensor[]
    }
  | { readonly type: 'failed'; readonly error: WireError }
  | { readonly type: 'result'; readonly id: number; readonly outputs: WireTensor[] }
  | { readonly type: 'error'; readonly id: number; readonly error: WireError }

type OnnxRuntime = typeof Runtime

/** What onnxruntime throws has no code. */
function failure(error: unknown): WireError {
  return toWire(error instanceof TensorRTError ? error : new TensorRTError('ERR_TRT_EXECUTION', textOf(error), { cause: error }))
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function loadRuntime(path: string): OnnxRuntime {
  try {
    const runtime = createRequire(import.meta.url)(path) as OnnxRuntime
    // Everything that onnxruntime logs as an error arrives as an exception too, so nothing of its log is wanted on stderr.
    runtime.env.logLevel = 'fatal'
    return runtime
  } catch (error) {
    throw lacking('ERR_TRT_NO_ONNXRUNTIME', `onnxruntime-node was found at ${path} but cannot be loaded: ${textOf(error)}`, {
      cause: error,
    })
  }
}

async function openSession(runtime: OnnxRuntime, model: Uint8Array | string): Promise<Runtime.InferenceSession> {
  const options: Runtime.InferenceSession.SessionOptions = { logSeverityLevel: 4 }
  try {
    return await (typeof model === 'string'
      ? runtime.InferenceSession.create(model, options)
      : runtime.InferenceSession.create(model, options))
  } catch (error) {
    if (/^Unsupported data type/.test(textOf(error))) throw unsupported(await unknownTensor(model), error)
    throw new TensorRTError('ERR_TRT_ONNX_PARSE', `onnxruntime cannot load the model: ${textOf(error)}`, { cause: error })
  }
}

function unsupported(what: string, cause?: unknown): TensorRTError {
  return new TensorRTError('ERR_TRT_DTYPE', `The CPU backend cannot run this model: it has ${what}`, cause === undefined ? {} : { cause })
}

/** Which tensor onnxruntime-node has no data type for; it does not say. */
async function unknownTensor(model: Uint8Array | string): Promise<string> {
  const { modelInfo, readModel } = await import('../onnx/index.js')
  const { inputs, outputs } = modelInfo(await readModel(model))
  const found = [...inputs, ...outputs].find(({ dtype }) => !runtimeTypes.includes(dtype))
  const which = found === undefined ? 'a tensor' : `${JSON.stringify(found.name)} of type ${found.dtype}`
  return `${which}, which onnxruntime-node does not take or give; it does ${runtimeTypes.join(', ')}`
}

/** What this package and onnxruntime-node both have. */
const runtimeTypes: readonly string[] = 'float32 float16 int32 int64 int8 uint8 bool float64 int16 uint16 uint32 uint64'.split(' ')

/** What is known of an input or output, or that no Tensor can hold it. */
function infoOf(metadata: Runtime.InferenceSession.ValueMetadata, use: UnsupportedTensor['use']): ModelTensor | UnsupportedTensor {
  const { name } = metadata
  if (!metadata.isTensor) return { name, use, type: 'no tensor' }
  const dtype: string = metadata.type
  if (!isDType(dtype) || dtype === 'int4') return { name, use, type: dtype }
  const shape = metadata.shape.map((dim) => (typeof dim === 'number' ? dim : -1))
  const dimensionNames = metadata.shape.map((dim) => (typeof dim === 'string' && dim !== '' ? dim : undefined))
  return { name, dtype, shape, dimensionNames, profiles: [], format: 'linear' }
}

class Session {
  readonly #runtime: OnnxRuntime
  readonly #session: Runtime.InferenceSession

  constructor(runtime: OnnxRuntime, session: Runtime.InferenceSession) {
    this.#runtime = runtime
    this.#session = session
  }

  static async open({ runtime: path, model }: Start): Promise<Session> {
    const runtime = loadRuntime(path)
    return new Session(runtime, await openSession(runtime, model))
  }

  describe(): Reply {
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
      unsupported: [...inputs, ...outputs].filter(other),
    }
  }

  async run(inputs: readonly WireTensor[], wanted: readonly string[]): Promise<WireTensor[]> {
    const feeds = Object.create(null) as Record<string, Runtime.Tensor>
    for (const { name, dtype, shape, bytes } of inputs) {
      feeds[name] = new this.#runtime.Tensor(dtype as 'float32', Tensor.fromBytes(dtype, bytes, shape).data as Float32Array, shape)
    }
    const results = await this.#session.run(feeds, wanted)
    return wanted.map((name) => wireTensor(name, results[name]))
  }

  close(): Promise<void> {
    return this.#session.release()
  }
}

/** A copy, because onnxruntime's own memory is freed when this thread ends. */
function wireTensor(name: string, tensor: Runtime.Tensor | undefined): WireTensor {
  if (tensor === undefined) throw new TensorRTError('ERR_TRT_EXECUTION', `onnxruntime gave no output ${JSON.stringify(name)}`)
  const dtype: string = tensor.type
  if (!isDType(dtype)) throw unsupported(`${JSON.stringify(name)} of type ${dtype}`)
  const bytes = elementCount(tensor.dims) === 0 ? new ArrayBuffer(0) : copiedBytes(tensor.data as NodeJS.TypedArray)
  return { name, dtype, shape: tensor.dims, bytes }
}

/** The way to the engine's thread. */
interface Port {
  postMessage(reply: Reply, transfer: ArrayBuffer[]): void
  on(event: 'message', listener: (request: Request) => void): unknown
  close(): void
}

async function serve(port: Port, start: Start, guard: Int32Array): Promise<void> {
  const send = (reply: Reply): void => port.postMessage(reply, reply.type === 'result' ? reply.outputs.map(({ bytes }) => bytes) : [])
  const native = async <T>(work: () => Promise<T>): Promise<T> => {
    await enterNative(guard)
    return work().finally(() => leaveNative(guard))
  }
  const answer = async (session: Session, request: Request): Promise<void> => {
    if (request.type === 'close') {
      await native(() => session.close())
      return port.close()
    }
    try {
      send({ type: 'result', id: request.id, outputs: await native(() => session.run(request.inputs, request.wanted)) })
    } catch (error) {
      send({ type: 'error', id: request.id, error: failure(error) })
    }
  }
  try {
    const session = await native(() => Session.open(start))
    let last = Promise.resolve()
    port.on('message', (request) => {
      last = last.then(() => answer(session, request))
    })
    send(session.describe())
  } catch (error) {
    send({ type: 'failed', error: failure(error) })
    port.close()
  }
}

/** As a process: it ends with the other one, whatever way that one ends. */
function serveProcess(): void {
  process.on('disconnect', () => process.exit())
  process.once('message', (start: Start) => {
    const port: Port = {
      postMessage: (reply) => void process.send?.(reply, undefined, undefined, () => {}), // nobody is there to hear of a failure
      on: (event, listener) => process.on(event, listener),
      close: () => process.disconnect(),
    }
    void serve(port, start, newGuard())
  })
}

if (parentPort) {
  const { guard, ...start } = workerData as Start & { guard: Int32Array }
  void serve(parentPort, start, guard)
} else {
  serveProcess()
}
