import { createHash } from 'node:crypto'
import type { NativeBuilderChoice, NativeBuildOptions, NativeProfile } from '../backend/native.js'
import type { ModelDigest } from './digest.js'

/** Raised when a plan that an earlier version of this package built from the same things is no longer what this one would build. */
const cacheFormat = 1

/** All that decides what a plan is. */
export interface KeyParts {
  readonly digest: Pick<ModelDigest, 'model' | 'external'>
  readonly options: NativeBuildOptions
  readonly profiles: readonly NativeProfile[]
  /** Who would build it, and for which GPU. */
  readonly builder: Pick<NativeBuilderChoice, 'kind' | 'version' | 'gpu'>
}

/**
 * The name of an engine in the cache: a SHA-256 over all that makes its plan stale. An option that is not known here is taken for one of them: at worst an engine
 * is built twice.
 */
export function keyOf({ digest, options, profiles, builder }: KeyParts): string {
  const parts = {
    cacheFormat,
    model: digest.model,
    external: digest.external,
    options: lastingOptions(options),
    // a profile names inputs in any order, but is known by its number
    profiles: profiles.map((profile) => Object.fromEntries(profile.map(({ name, min, opt, max }) => [name, [min, opt, max]]))),
    tensorrt: [builder.kind, builder.version],
    gpu: gpuOf(builder),
    system: [process.platform, process.arch],
  }
  return createHash('sha256').update(canonical(parts)).digest('hex')
}

/** Where TensorRT and the GPU were looked for says nothing that `tensorrt` and `gpu` of the key do not say. */
const withoutEffect: readonly string[] = ['tensorrt', 'device']

function lastingOptions(options: NativeBuildOptions): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !withoutEffect.includes(name)))
}

/** What TensorRT-RTX builds belongs to no GPU. */
function gpuOf({ kind, gpu }: KeyParts['builder']): unknown {
  return kind === 'rtx' || gpu === undefined ? null : [gpu.name, gpu.computeCapability, gpu.multiprocessors]
}

/** JSON with the names in order, so that what is equal is written alike. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
