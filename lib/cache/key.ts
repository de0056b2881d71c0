import { createHash } from 'node:crypto'
import type { NativeBuilderChoice, NativeBuildOptions, NativeProfile } from '../backend/native.js'
import type { ModelDigest } from './digest.js'

/** Raised when a plan that an earlier version of this package built from the same things is no longer what this one would build. */
const cacheFormat = 1

/** All that decides what a plan is. */
export interface KeyParts {
  readonly digest: Pick<ModelDigest, 'model' | 'external'>
  readonly options: NativeBuildOptions
  /** The SHA-256 of plugin libraries by their paths. */
  readonly plugins: ReadonlyMap<unknown, string>
  readonly profiles: readonly NativeProfile[]
  /** Who would build it, and for which GPU. */
  readonly builder: Pick<NativeBuilderChoice, 'kind' | 'version' | 'gpu'>
}

/**
 * The name of an engine in the cache: a SHA-256 over all that makes its plan stale. An option that is not known here is taken for one of them: at worst an engine
 * is built twice.
 */
export function keyOf({ digest, options, plugins, profiles, builder }: KeyParts): string {
  const parts = {
    cacheFormat,
    model: digest.model,
    external: digest.external,
    options: lastingOptions(options, plugins),
    // a profile names inputs in any order, but is known by its number
    profiles: profiles.map((profile) => Object.fromEntries(profile.map(({ name, min, opt, max }) => [name, [min, opt, max]]))),
    tensorrt: [builder.kind, builder.version],
    gpu: gpuOf(builder, options),
    system: [process.platform, process.arch],
  }
  return createHash('sha256').update(canonical(parts)).digest('hex')
}

/**
 * The options without what has no effect on the plan: where TensorRT, the GPU and a timing cache are looked for, and in which process it is built; and with what
 * is in plugin libraries for their paths.
 */
function lastingOptions(
  given: NativeBuildOptions & { readonly isolation?: unknown },
  plugins: KeyParts['plugins'],
): Record<string, unknown> {
  const { tensorrt: _, device: _device, isolation: _isolation, timingCache, options, ...lasting } = given
  const values = Object.entries(options.values).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map((each) => plugins.get(each) ?? each) : value,
  ])
  return {
    ...lasting,
    ...options,
    values: Object.fromEntries(values),
    timing: timingCache && [timingCache.errorOnMiss, timingCache.editable],
  }
}

/** What TensorRT-RTX builds belongs to no GPU, unless it is told to build for the one that is here. */
function gpuOf({ kind, gpu }: KeyParts['builder'], options: NativeBuildOptions): unknown {
  const capabilities = options.options.values['computeCapabilities']
  const isPortable = kind === 'rtx' && !(Array.isArray(capabilities) && capabilities.includes('current'))
  return isPortable || gpu === undefined ? null : [gpu.name, gpu.computeCapability, gpu.multiprocessors]
}

/** The paths of libraries among the options; a name without a folder is the loader's to find. */
export function pluginPaths(options: NativeBuildOptions): string[] {
  const { plugins, pluginsToSerialize } = options.options.values
  return [plugins, pluginsToSerialize]
    .flatMap((paths) => (Array.isArray(paths) ? (paths as string[]) : []))
    .filter((path, i, all) => path.includes('/') && all.indexOf(path) === i)
}

/** JSON with the names in order, so that what is equal is written alike. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
