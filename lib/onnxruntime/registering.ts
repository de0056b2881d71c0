/** Puts the backend of this package into a copy of onnxruntime-common. */
import type * as common from 'onnxruntime-common'
import { messageOf } from '../base/kinds.js'
import { lacking } from '../base/remedies.js'
import { TensorRTError } from '../errors.js'
import { tensorrtBackend } from './backend.js'
import { heedLogLevel } from './lines.js'
import { registeredProviders } from './providers.js'

/** Above the 100 of onnxruntime-node, which registers the same names. */
export const priority = 200

/** A copy of onnxruntime-common, CommonJS or ES module: what this package needs of it. */
export type OrtCommon = Pick<typeof common, 'registerBackend' | 'env' | 'InferenceSession' | 'Tensor'>

/**
 * Registers the backend under each name that a session may ask for, says which version `env.versions.node` is, and
 * gives sessions the property `provider`. A second call does no harm, nor does another copy of this package.
 * @throws TensorRTError ERR_TRT_NO_ONNXRUNTIME where the copy is too old, ERR_TRT_INVALID_ARGUMENT where another
 * runtime has a name of ours already: onnxruntime-common keeps what was registered first
 */
export function registerWith(copy: OrtCommon): void {
  for (const name of registeredProviders) register(copy, name)
  const taken = registeredProviders.find((name) => !isOurs(copy, name))
  if (taken !== undefined) throw late(`another runtime, such as onnxruntime-node, has the name '${taken}' already`)
  const { env, InferenceSession } = copy
  heedLogLevel(env)
  if (!Object.hasOwn(env.versions, 'node'))
    Object.defineProperty(env.versions, 'node', { value: env.versions.common, enumerable: true, configurable: true })
  const sessions = (InferenceSession as unknown as { readonly prototype: object }).prototype
  Object.defineProperty(sessions, 'provider', {
    get(this: { readonly handler?: { readonly provider?: string } }) {
      return this.handler?.provider
    },
    configurable: true,
  })
}

/** What is refused for its priority alone was registered by another copy of this package, which does as well. */
const refusedByPriority = /^cannot register backend/

function register({ registerBackend }: OrtCommon, name: string): void {
  try {
    registerBackend(name, tensorrtBackend, priority)
  } catch (cause) {
    if (refusedByPriority.test(messageOf(cause))) return
    const message = `node-tensorrt/onnxruntime needs onnxruntime-common from 1.22; what is installed takes no backend of it: ${messageOf(cause)}`
    throw lacking('ERR_TRT_NO_ONNXRUNTIME', message, { cause, details: { peer: 'onnxruntime-common' } })
  }
}

/** Whether a name has the backend that is registered at our priority: only there another one is refused. */
function isOurs({ registerBackend }: OrtCommon, name: string): boolean {
  try {
    registerBackend(name, { ...tensorrtBackend }, priority)
    return false
  } catch {
    return true
  }
}

/** Of a runtime that was there first. */
export function late(what: string): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `Expected node-tensorrt/onnxruntime before everything that uses onnxruntime-node, but ${what}: ` +
      'import it, or node-tensorrt/onnxruntime/register, first, or run node --import node-tensorrt/onnxruntime/register',
  )
}
