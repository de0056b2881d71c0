// What is to be known of a model in JavaScript before a thread of it begins: its file, its limits, and what its modules
// are started with.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { modelFileOf } from '../config/backends.js'
import { batchingOf } from '../config/batching.js'
import { completeNodeConfig } from '../config/complete.js'
import { configJson } from '../config/json.js'
import type { ModelConfig, ModelInput, ModelOutput } from '../../kserve/messages/model_config_pb.js'
import { invalid } from '../faults.js'
import { versionPath } from '../repository/folder.js'
import type { LoadOptions } from '../models/settings.js'
import { wireTypeOf } from '../config/types.js'
import type { ModuleStart, TensorSpec } from './module-start.js'
import { type QueueLimits, queueLimitsOf } from './queue.js'

/** A model in JavaScript that was found, and whose configuration is complete. */
export interface PreparedModule {
  readonly config: ModelConfig
  /** How many threads. */
  readonly count: number
  readonly maxMemoryMb: number | undefined
  readonly merging: ReturnType<typeof batchingOf>
  readonly limits: QueueLimits
  /** For an instance. */
  readonly start: (instance: number) => ModuleStart
}

/** @throws Fault (as a rejection) */
export async function prepareModule({
  folder,
  version,
  config: given,
  settings,
}: LoadOptions): Promise<PreparedModule> {
  const config = completeNodeConfig(given, folder.name, settings.autoComplete)
  const { file } = modelFileOf(config)
  const versionFolder = versionPath(folder, version)
  const found = await stat(join(versionFolder, file)).catch(() => undefined)
  if (found?.isFile() !== true) {
    const why = found === undefined ? 'it is not there' : 'it is no file'
    throw invalid(`Expected the file ${file} in version ${version} of model '${folder.name}', but ${why}`)
  }
  const start = {
    name: folder.name,
    version,
    folder: versionFolder,
    file,
    config: configJson(config),
    parameters: parametersOf(config),
    maxBatch: config.maxBatchSize,
    inputs: config.input.map(specOf),
    outputs: config.output.map(specOf),
  }
  return {
    config,
    count: config.instanceGroup.reduce((sum, { count }) => sum + count, 0),
    maxMemoryMb: memoryOf(config),
    merging: batchingOf(config),
    limits: queueLimitsOf(config),
    start: (instance) => ({ ...start, instance }),
  }
}

function specOf({ name, dataType, dims, reshape }: ModelInput | ModelOutput): TensorSpec {
  return { name, datatype: wireTypeOf(dataType) ?? 'BYTES', dims: (reshape?.shape ?? dims).map(Number) }
}

function parametersOf({ parameters }: ModelConfig): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(parameters).map(([key, { stringValue }]) => [key, stringValue]))
}

const leastMb = 8
const mostMb = 2 ** 20

/** @throws Fault INVALID_ARG */
function memoryOf({ name, parameters }: ModelConfig): number | undefined {
  const text = parameters['max_memory_mb']?.stringValue
  if (text === undefined) return undefined
  const megabytes = /^\d{1,7}$/.test(text) ? Number(text) : NaN
  if (megabytes >= leastMb && megabytes <= mostMb) return megabytes
  throw invalid(
    `Expected megabytes from ${leastMb} to ${mostMb} for parameters.max_memory_mb of model '${name}' but received '${text}'`,
  )
}
