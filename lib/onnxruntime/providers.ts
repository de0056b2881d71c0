/** The execution providers by their names: those that run a model here, and those that are told to be none of ours. */

/** A provider that runs a model here. */
export type Provider = 'tensorrt' | 'cpu'

/** The names that a session may ask for and get. */
export const ownProviders: readonly Provider[] = ['cpu', 'tensorrt']

/** What takes the place of each provider of onnxruntime that this package does not have. */
export const foreignProviders: ReadonlyMap<string, string> = new Map([
  ['cuda', "'tensorrt' runs on the GPU"],
  ['dml', "'tensorrt' runs on the GPU"],
  ['webgpu', "'tensorrt' runs on the GPU"],
  ['coreml', "'cpu' runs everywhere"],
])

/** All names that are registered with onnxruntime-common. */
export const registeredProviders: readonly string[] = [...ownProviders, ...foreignProviders.keys()]

/** Why a provider is not taken. */
export function refusalOf(name: string): string {
  return `Expected 'tensorrt' or 'cpu' of executionProviders but received '${name}', which node-tensorrt does not have: ${foreignProviders.get(name) ?? "'cpu' runs everywhere"}`
}

/** One of `listSupportedBackends`. */
export interface SupportedBackend {
  /** The name that `executionProviders` takes. */
  readonly name: string
  /** Whether it needs nothing that has to be installed beside the packages. */
  readonly bundled: boolean
}

/**
 * The providers that a session may ask for, as onnxruntime-node lists its own. Whether TensorRT is on this machine,
 * `capabilities()` of node-tensorrt tells.
 */
export function listSupportedBackends(): SupportedBackend[] {
  return ownProviders.map((name) => ({ name, bundled: name === 'cpu' }))
}
