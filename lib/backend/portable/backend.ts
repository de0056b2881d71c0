import { findRuntimeModule } from '../../base/onnxruntime-package.js'
import { lacking } from '../../base/remedies.js'
import { awaitRestacked } from '../../base/stacks.js'
import type { AnyTensor } from '../../device-tensor.js'
import { copiedBytes, type Tensor, bytesOfTensor } from '../../tensor.js'
import type { ModelMetadata } from '../../onnx/metadata.js'
import type { Backend, ModelTensor, Results, RunOptions, UnsupportedTensor } from '../backend.js'
import { type OpenCpuOptions, sessionConfig, threadsFor } from '../cpu-options.js'
import { profilesFor } from '../profiles.js'
import { placed } from '../results.js'
import { needsAddon, refuseLacking } from './lacks.js'
import type { Ready, SessionOptions } from './messages.js'
import { Session } from './session.js'

export interface PortableOptions extends OpenCpuOptions {
  /** Why the addon is not used: the end of a sentence. */
  readonly why: string
}

/**
 * Opens an ONNX model on onnxruntime-node, in a worker thread of its own. Bytes are transferred: `model` is empty
 * afterwards. A path is opened by onnxruntime itself, which finds weights in files beside it. `reason`: why the CPU was
 * chosen, where it was not asked for.
 * @throws TensorRTError ERR_TRT_UNSUPPORTED (see lacks.ts), ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_ONNX_PARSE, ERR_TRT_DTYPE,
 * and those of profilesFor
 */
export async function openPortable(
  model: Uint8Array | string,
  options: PortableOptions,
  reason?: string,
): Promise<Backend> {
  refuseLacking(options, options.why)
  // before its bytes are transferred
  const { metadataOfSource } = await import('../../onnx/metadata.js')
  const customMetadata = await metadataOfSource(model)
  const session = new Session({ runtime: findRuntime(), model, options: sessionOptions(options) })
  const ready = await session.ready
  try {
    const known = { lacks: needsAddon(options.why), reason, customMetadata }
    return new PortableBackend(session, withProfiles(ready, options), known)
  } catch (error) {
    await session.close()
    throw error
  }
}

function sessionOptions({ cpu, lanes, freeDimensions }: PortableOptions): SessionOptions {
  const { optimization } = cpu
  return { threads: threadsFor(cpu, lanes.lanes), optimization, config: sessionConfig(cpu), freeDimensions }
}

function withProfiles(ready: Ready, { profiles }: PortableOptions): Ready {
  const byInput = profilesFor(profiles, ready.inputs)
  return { ...ready, inputs: ready.inputs.map((input, i) => ({ ...input, ...byInput[i] })) }
}

function findRuntime(): string {
  try {
    return findRuntimeModule()
  } catch (cause) {
    throw lacking('ERR_TRT_NO_ONNXRUNTIME', 'The CPU backend needs onnxruntime-node', { cause })
  }
}

/**
 * Ends the worker of an engine that was dropped without close(): its thread would keep it for ever. A call that is
 * under way holds its backend, so that nothing is ended that somebody waits for.
 */
const dropped = new FinalizationRegistry<Session>((session) => void session.close())

class PortableBackend implements Backend {
  readonly kind = 'cpu'
  readonly description: string
  readonly inputs: readonly ModelTensor[]
  readonly outputs: readonly ModelTensor[]
  readonly unsupported: readonly UnsupportedTensor[]
  readonly lacks: string
  readonly reason: string | undefined
  readonly customMetadata: ModelMetadata
  readonly #session: Session

  constructor(
    session: Session,
    { description, inputs, outputs, unsupported }: Ready,
    { lacks, reason, customMetadata }: Pick<PortableBackend, 'lacks' | 'reason' | 'customMetadata'>,
  ) {
    this.lacks = lacks
    this.reason = reason
    this.customMetadata = customMetadata
    this.description = description
    this.inputs = inputs
    this.outputs = outputs
    this.unsupported = unsupported
    this.#session = session
    dropped.register(this, session)
  }

  async run<R>(
    inputs: readonly AnyTensor[],
    options: RunOptions | undefined,
    finish: (results: Results) => R,
  ): Promise<R> {
    const wire = (inputs as readonly Tensor[]).map((tensor, i) => ({
      name: this.inputs[i]?.name ?? '',
      dtype: tensor.dtype,
      shape: tensor.shape,
      bytes: copiedBytes(bytesOfTensor(tensor)),
    }))
    const { outputs: wanted, into } = options ?? {}
    const names = this.outputs.flatMap(({ name }, i) => (wanted?.[i] === false ? [] : [name]))
    const outputs = await awaitRestacked(this.#session.run(wire, names, options?.cut))
    return finish(this.outputs.map(({ name }, i) => placed(outputs[name], into?.[i])))
  }

  close(): Promise<void> {
    return this.#session.close()
  }
}
