// backend, platform and default_model_filename: what runs a model, and from which file.
import type { ModelConfig } from './model_config_pb.js'
import { Fault } from '../faults.js'

export type Runtime = 'tensorrt' | 'onnxruntime'

const platforms: Readonly<Record<Runtime, string>> = { tensorrt: 'tensorrt_plan', onnxruntime: 'onnxruntime_onnx' }
const files: Readonly<Record<Runtime, string>> = { tensorrt: 'model.plan', onnxruntime: 'model.onnx' }
const runtimes = ['tensorrt', 'onnxruntime'] as const

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
 * Fills what follows from the others and from the files of a version, as Triton does. `tensorrt` takes a model.onnx where no model.plan is.
 *
 * @param found names of files in the folder of a version
 */
export function completeBackend(config: ModelConfig, found: readonly string[]): void {
  if (config.backend === '') config.backend = backendFrom(config, found)
  const runtime = runtimes.find((name) => name === config.backend)
  if (runtime === undefined) return
  if (config.platform === '') config.platform = platforms[runtime]
  if (config.defaultModelFilename !== '') return
  const isBuilt = runtime === 'tensorrt' && !found.includes(files.tensorrt) && found.includes(files.onnxruntime)
  config.defaultModelFilename = isBuilt ? files.onnxruntime : files[runtime]
}

/**
 * The file below a version's folder, and what runs it. A file that is not ONNX by its name is a plan for tensorrt.
 *
 * @throws Fault INVALID_ARG where backend and platform do not belong together, UNSUPPORTED for any other backend
 */
export function modelFileOf(config: ModelConfig): { readonly file: string; readonly runtime: Runtime } {
  const runtime = runtimeOf(config)
  const file = config.defaultModelFilename === '' ? files[runtime] : config.defaultModelFilename
  if (file.startsWith('/') || file.split('/').includes('..'))
    throw new Fault(
      'INVALID_ARG',
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
    throw new Fault('INVALID_ARG', `unexpected 'platform' and 'backend' pair, got:${config.platform}, ${config.backend}`)
  return runtime
}

function backendFrom({ backend, platform, defaultModelFilename }: ModelConfig, found: readonly string[]): string {
  if (backend !== '') return backend
  const named = runtimes.find((runtime) => platform === platforms[runtime] || defaultModelFilename === files[runtime])
  if (named !== undefined || platform !== '') return named ?? ''
  if (defaultModelFilename !== '') return foreignFiles[defaultModelFilename] ?? ''
  return runtimes.find((runtime) => found.includes(files[runtime])) ?? foreignAmong(found)
}

function foreignAmong(found: readonly string[]): string {
  return found.map((file) => foreignFiles[file]).find((name) => name !== undefined) ?? ''
}

const remedies: Readonly<Record<string, string>> = {
  python:
    'models in JavaScript, which such a step becomes, are not served yet: run it in your own program around the server, or export it to ONNX',
  ensemble: 'ensembles are not served yet: ask its models one after the other',
  pytorch: 'export the model to ONNX (torch.onnx.export) as model.onnx',
  tensorflow: 'convert the model to ONNX (tf2onnx) as model.onnx',
  openvino: 'take the model as ONNX: model.onnx',
}

function refusedBackend({ name, platform }: ModelConfig, backend: string): Fault {
  if (backend === '' && platform === '')
    return new Fault(
      'INVALID_ARG',
      `Could not determine backend for model '${name}' with no backend in model configuration: give a model.plan or a model.onnx, or backend and default_model_filename`,
    )
  const known = Object.keys(remedies).find(
    (key) => backend === key || platform.startsWith(key) || (key === 'pytorch' && /torch/.test(platform)),
  )
  const field = backend === '' ? `platform: "${platform}"` : `backend: "${backend}"`
  const remedy = known === undefined ? 'export the model to ONNX as model.onnx' : remedies[known]
  return new Fault('UNSUPPORTED', `${field} of model '${name}' is not served, tensorrt and onnxruntime are: ${remedy ?? ''}`)
}
