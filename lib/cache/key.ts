import { createHash } from 'node:crypto'
import type { NativeBuilderChoice, NativeBuildOptions, NativeProfile } from '../backend/native-types.js'
import { packageVersion } from '../base/package.js'
import { isConverted } from '../building/conversion.js'
import { TensorRTError } from '../errors.js'
import type { ModelDigest } from './digest.js'

/**
 * Raised when a plan that an earlier version of this package built from the same things is no longer what this one
 * would build.
 */
const cacheFormat = 3

/** All that decides what a plan is. */
export interface KeyParts {
  readonly digest: Pick<ModelDigest, 'model' | 'external'>
  readonly options: NativeBuildOptions
  /** The SHA-256 of plugin libraries by their paths. */
  readonly plugins: ReadonlyMap<unknown, string>
  readonly profiles: readonly NativeProfile[]
  /** Who would build it, and for which GPU. */
  readonly builder: Pick<NativeBuilderChoice, 'kind' | 'version' | 'gpu'>
  /** The SHA-256 of its ONNX parser's library, which may be another than came with it; nothing where there is none. */
  readonly parser: string | undefined
}

/**
 * The name of an engine in the cache: a SHA-256 over all that makes its plan stale. An option that is not known here is
 * taken for one of them: at worst an engine is built twice.
 */
export function keyOf({ digest, options, plugins, profiles, builder, parser }: KeyParts): string {
  const parts = {
    cacheFormat,
    model: digest.model,
    external: digest.external,
    options: lastingOptions(options, plugins),
    // a profile names inputs in any order, but is known by its number
    profiles: profiles.map((profile) =>
      Object.fromEntries(profile.map(({ name, min, opt, max }) => [name, [min, opt, max]])),
    ),
    tensorrt: [builder.kind, builder.version],
    parser: parser ?? null,
    // what this package makes of a model differs from version to version
    conversion: isConverted(options, builder) ? packageVersion() : null,
    environment: lastingEnvironment(),
    gpu: gpuOf(builder, options),
    system: [process.platform, process.arch],
  }
  return createHash('sha256').update(canonical(parts)).digest('hex')
}

/**
 * What says where, how fast or how safely a plan is built, and not which plan; of a timing cache neither the file nor
 * what is in it.
 */
const withoutEffect: readonly string[] = ['tensorrt', 'device', 'isolation', 'timingCache']

/** Variables of the environment by which NVIDIA's libraries choose other kernels. */
const lastingVariables = ['NVIDIA_TF32_OVERRIDE'] as const

function lastingEnvironment(): Record<string, string> {
  return Object.fromEntries(
    lastingVariables.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  )
}

/** The options that have an effect on the plan, with what is in plugin libraries for their paths. */
function lastingOptions(given: NativeBuildOptions, plugins: KeyParts['plugins']): Record<string, unknown> {
  const lasting = Object.entries({ ...given, ...given.options }).filter(
    ([name]) => name !== 'options' && !withoutEffect.includes(name),
  )
  const values = Object.entries(given.options.values).map(([name, value]): [string, unknown] => [
    name,
    known(value, plugins),
  ])
  return { ...Object.fromEntries<unknown>(lasting), values: Object.fromEntries(values) }
}

function known(value: unknown, plugins: KeyParts['plugins']): unknown {
  return Array.isArray(value) ? value.map((each: unknown) => plugins.get(each) ?? each) : value
}

/** What TensorRT-RTX builds belongs to no GPU, unless it is told to build for the one that is here. */
function gpuOf({ kind, gpu }: KeyParts['builder'], options: NativeBuildOptions): unknown {
  const capabilities = options.options.values['computeCapabilities']
  const isPortable = kind === 'rtx' && !(Array.isArray(capabilities) && capabilities.includes('current'))
  return isPortable || gpu === undefined ? null : [gpu.name, gpu.computeCapability, gpu.multiprocessors]
}

/**
 * The plugin libraries among the options.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a name without a folder: where the loader finds it is not known,
 * and so not what is in it
 */
export function pluginPaths(options: NativeBuildOptions): string[] {
  const { plugins, pluginsToSerialize } = options.options.values
  const paths = [plugins, pluginsToSerialize].flatMap((each) => (Array.isArray(each) ? (each as string[]) : []))
  const bare = paths.find((path) => !path.includes('/'))
  if (bare !== undefined)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `Expected the path of a plugin library, with its folder, for an engine that is cached but received ${JSON.stringify(bare)}: the system finds it by its name, so that a cached engine could be of another one. Give its path, or { cache: false }`,
      { details: { plugin: bare } },
    )
  return [...new Set(paths)]
}

/** JSON with the names in order, so that what is equal is written alike. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
