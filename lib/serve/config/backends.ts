// backend, platform and default_model_filename: what runs a model, and from which file.
import { create } from '@bufbuild/protobuf'
import { type ModelConfig, ModelVersionPolicySchema } from '../../kserve/messages/model_config_pb.js'
import { type Fault, invalid, unsupported } from '../faults.js'

export type Runtime = 'tensorrt' | 'onnxruntime' | 'node' | 'ensemble'

/** As metadata has them; an ensemble is named by its platform alone, a model in JavaScript by its backend alone. */
const platforms: Readonly<Record<Runtime, string>> = {
  tensorrt: 'tensorrt_plan',
  onnxruntime: 'onnxruntime_onnx',
  node: '',
  ensemble: 'ensemble',
}
/** The files of a version, the one that is taken first before the others; an ensemble has none. */
const files: Readonly<Record<Runtime, readonly string[]>> = {
  tensorrt: ['model.plan'],
  onnxruntime: ['model.onnx'],
  node: ['model.js', 'model.mjs', 'model.ts'],
  ensemble: [],
}
const runtimes = ['tensorrt', 'onnxruntime', 'node', 'ensemble'] as const

/** What else Triton finds by the name of a file. */
const foreignFiles: Readonly<Record<string, string>> = {
  'model.py': 'python',
  'model.pt': 'pytorch',
  'model.pt2': 'pytorch',
  'model.xml': 'openvino',
  'model.graphdef': 'tensorflow',
  'model.savedmodel': 'tensorflow',
}

/**
 * Fills what follows from the others and from the files of a version, as Triton does. `tensorrt` takes a model.onnx
 * where no model.plan is. An ensemble has its platform alone.
 *
 * @param found names of files in the folder of a version
 */
export function completeBackend(config: ModelConfig, found: readonly string[]): void {
  const backend = backendFrom(config, found)
  if (backend === 'ensemble') config.platform = platforms.ensemble
  else if (config.backend === '') config.backend = backend
  const runtime = runtimes.find((name) => name === config.backend)
  if (runtime === undefined) return
  if (config.platform === '') config.platform = platforms[runtime]
  if (config.defaultModelFilename === '') config.defaultModelFilename = fileAmong(runtime, found) ?? ''
}

/** The latest, where nothing is said. */
export function completeVersions(config: ModelConfig): void {
  config.versionPolicy ??= create(ModelVersionPolicySchema, {
    policyChoice: { case: 'latest', value: { numVersions: 1 } },
  })
}

/** The first of its files that is there; where none is, the one that is looked for. */
function fileAmong(runtime: Runtime, found: readonly string[]): string | undefined {
  const isThere = (file: string): boolean => found.includes(file)
  if (runtime === 'tensorrt' && !files.tensorrt.some(isThere))
    return files.onnxruntime.find(isThere) ?? files.tensorrt[0]
  return files[runtime].find(isThere) ?? files[runtime][0]
}

/**
 * The file below a version's folder, and what runs it; of an ensemble an empty name. A file that is not ONNX by its
 * name is a plan for tensorrt.
 *
 * @throws Fault INVALID_ARG where backend and platform do not belong together, UNSUPPORTED for any other backend
 */
export function modelFileOf(config: ModelConfig): { readonly file: string; readonly runtime: Runtime } {
  const runtime = runtimeOf(config)
  const file = config.defaultModelFilename === '' ? (files[runtime][0] ?? '') : config.defaultModelFilename
  if (file.startsWith('/') || file.split('/').includes('..'))
    throw invalid(
      `Expected a default_model_filename within the folder of a version for model '${config.name}' but received '${file}'`,
    )
  return { file, runtime }
}

/** @throws Fault as modelFileOf */
export function runtimeOf(config: ModelConfig): Runtime {
  const backend = backendFrom(config, [])
  const runtime = runtimes.find((name) => name === backend)
  if (runtime === undefined) throw refusedBackend(config, backend)
  if (config.platform !== '' && config.platform !== platforms[runtime])
    throw invalid(`unexpected 'platform' and 'backend' pair, got:${config.platform}, ${config.backend}`)
  return runtime
}

function backendFrom({ backend, platform, defaultModelFilename: file }: ModelConfig, found: readonly string[]): string {
  if (backend !== '') return backend
  const named = runtimes.find(
    (runtime) => (platform !== '' && platform === platforms[runtime]) || files[runtime].includes(file),
  )
  if (named !== undefined || platform !== '') return named ?? ''
  if (file !== '') return foreignFiles[file] ?? ''
  return runtimes.find((runtime) => files[runtime].some((each) => found.includes(each))) ?? foreignAmong(found)
}

function foreignAmong(found: readonly string[]): string {
  return found.map((file) => foreignFiles[file]).find((name) => name !== undefined) ?? ''
}

const remedies: Readonly<Record<string, string>> = {
  python: 'write it in JavaScript, as backend: "node" with a model.js, or export it to ONNX as model.onnx',
  pytorch: 'export the model to ONNX (torch.onnx.export) as model.onnx',
  tensorflow: 'convert the model to ONNX (tf2onnx) as model.onnx',
  openvino: 'take the model as ONNX: model.onnx',
}

/** @param hint what to do about the files that are there */
export function undetermined(name: string, hint = ''): Fault {
  return invalid(
    `Could not determine backend for model '${name}' with no backend in model configuration: give a model.plan, a model.onnx or a model.js, or backend and default_model_filename${hint}`,
  )
}

function refusedBackend({ name, platform }: ModelConfig, backend: string): Fault {
  if (backend === '' && platform === '') return undetermined(name)
  const known = Object.keys(remedies).find(
    (key) => backend === key || platform.startsWith(key) || (key === 'pytorch' && /torch/.test(platform)),
  )
  const field = backend === '' ? `platform: "${platform}"` : `backend: "${backend}"`
  const remedy = known === undefined ? 'export the model to ONNX as model.onnx' : remedies[known]
  return unsupported(
    `${field} of model '${name}' is not served, tensorrt, onnxruntime, node and ensembles are: ${remedy ?? ''}`,
  )
}
