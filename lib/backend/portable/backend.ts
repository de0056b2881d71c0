import { findPeer } from '../../base/peer.js'
import { lacking } from '../../base/remedies.js'
import { awaited } from '../../base/stacks.js'
import { copiedBytes, type Tensor } from '../../tensor.js'
import type { Backend, ModelTensor, Results, RunOptions, UnsupportedTensor } from '../backend.js'
import { placed } from '../results.js'
import type { Ready } from './messages.js'
import { Session } from './session.js'

/**
 * Opens an ONNX model on onnxruntime-node, in a worker thread of its own. Bytes are transferred: `model` is empty afterwards.
 * A path is opened by onnxruntime itself, which finds weights in files beside it. `reason`: why the CPU was chosen, where it was not asked for.
 * @throws TensorRTError ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_ONNX_PARSE, ERR_TRT_DTYPE
 */
export async function openPortable(model: Uint8Array | string, reason?: string): Promise<Backend> {
  const session = new Session({ runtime: findRuntime(), model })
  return new PortableBackend(session, await session.ready, reason)
}

function findRuntime(): string {
  try {
    return findPeer('onnxruntime-node')
  } catch (cause) {
    throw lacking('ERR_TRT_NO_ONNXRUNTIME', 'The CPU backend needs onnxruntime-node', { cause })
  }
}

/**
 * Ends the worker of an engine that was dropped without close(): its thread would keep it for ever. A call that is under way holds its backend, so that nothing is
 * ended that somebody waits for.
 */
const dropped = new FinalizationRegistry<Session>((session) => void session.close())

class PortableBackend implements Backend {
  readonly kind = 'cpu'
  readonly description: string
  readonly inputs: readonly ModelTensor[]
  readonly outputs: readonly ModelTensor[]
  readonly unsupported: readonly UnsupportedTensor[]
  readonly reason: string | undefined
  readonly #session: Session

  constructor(session: Session, { description, inputs, outputs, unsupported }: Ready, reason: string | undefined) {
    this.reason = reason
    this.description = description
    this.inputs = inputs
    this.outputs = outputs
    this.unsupported = unsupported
    this.#session = session
    dropped.register(this, session)
  }

  async run<R>(inputs: readonly Tensor[], options: RunOptions | undefined, finish: (results: Results) => R): Promise<R> {
    const wire = inputs.map(({ dtype, shape, data }, i) => ({ name: this.inputs[i]?.name ?? '', dtype, shape, bytes: copiedBytes(data) }))
    const { outputs: wanted, into } = options ?? {}
    const names = this.outputs.flatMap(({ name }, i) => (wanted?.[i] === false ? [] : [name]))
    const outputs = await awaited(this.#session.run(wire, names, options?.cut))
    return finish(this.outputs.map(({ name }, i) => placed(outputs[name], into?.[i])))
  }

  close(): Promise<void> {
    return this.#session.close()
  }
}
