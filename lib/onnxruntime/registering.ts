/** Puts the backend of this package into a copy of onnxruntime-common. */
import type * as common from 'onnxruntime-common'
import { tensorrtBackend } from './backend.js'
import { heedLogLevel } from './lines.js'
import { registeredProviders } from './providers.js'

/** Above the 100 of onnxruntime-node, which registers the same names. */
export const priority = 200

/** A copy of onnxruntime-common, CommonJS or ES module: what this package needs of it. */
export type OrtCommon = Pick<typeof common, 'registerBackend' | 'env' | 'InferenceSession' | 'Tensor'>

/**
 * Registers the backend under each name that a session may ask for, says which version `env.versions.node` is, and
 * gives sessions the property `provider`. A second call does no harm.
 */
export function registerWith({ registerBackend, env, InferenceSession }: OrtCommon): void {
  for (const name of registeredProviders) registerBackend(name, tensorrtBackend, priority)
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
