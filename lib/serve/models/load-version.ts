// How a version of a model is opened, by what runs it.
import { runtimeOf } from '../config/backends.js'
import { Fault } from '../faults.js'
import { EngineModel } from './engine-model.js'
import { NodeModel } from '../node/node-model.js'
import type { VersionFiles } from './engines.js'
import type { LoadedVersion } from './servable.js'
import type { ModelSettings } from './settings.js'

export interface LoadOptions extends VersionFiles {
  readonly settings: ModelSettings
  readonly signal: AbortSignal
}

/** Opens a version, completes its configuration, and warms it up. @throws Fault, TensorRTError, or the reason of the signal (as a rejection); nothing of it is left */
export type LoadVersion = (options: LoadOptions) => Promise<LoadedVersion>

export const loadVersion: LoadVersion = async (options) => {
  const { config } = options
  const runtime = runtimeOf(config)
  if (runtime === 'tensorrt' || runtime === 'onnxruntime') return EngineModel.load(options)
  if (runtime === 'node') return NodeModel.load(options)
  throw new Fault('UNSUPPORTED', `backend: "${runtime}" of model '${config.name}' is not served yet`)
}
