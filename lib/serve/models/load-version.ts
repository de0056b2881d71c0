// How a version of a model is opened, by what runs it.
import { runtimeOf } from '../config/backends.js'
import { unsupported } from '../faults.js'
import { NodeModel } from '../node/node-model.js'
import { EngineModel } from './engine-model.js'
import type { LoadVersion } from './settings.js'

export type { LoadOptions, LoadVersion } from './settings.js'

export const loadVersion: LoadVersion = async (options) => {
  const { config } = options
  const runtime = runtimeOf(config)
  if (runtime === 'tensorrt' || runtime === 'onnxruntime') return EngineModel.load(options)
  if (runtime === 'node') return NodeModel.load(options)
  throw unsupported(`backend: "${runtime}" of model '${config.name}' is not served yet`)
}
