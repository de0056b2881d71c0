// What a model's folder says of its configuration, before the model itself is opened.
import { clone } from '@bufbuild/protobuf'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ModelFolder } from './folder.js'
import { chosenVersions } from './versions.js'
import { completeBackend } from '../config/backends.js'
import { checkFields } from '../config/fields.js'
import { type ModelConfig, ModelConfigSchema } from '../../kserve/messages/model_config_pb.js'
import { checkConfig } from '../config/validate.js'
import { checkTensors } from '../config/validate-tensors.js'
import { invalid, unsupported } from '../faults.js'
import { onFile } from '../../base/files.js'

/**
 * A copy with name, backend, platform and default_model_filename, as far as the folder tells them; also for the
 * `config` of a load.
 *
 * @throws Fault (as a rejection) INVALID_ARG for a name that is not the folder's, UNSUPPORTED for what is not served
 */
export async function prepareConfig(folder: ModelFolder, given: ModelConfig): Promise<ModelConfig> {
  const config = clone(ModelConfigSchema, given)
  if (config.name === '') config.name = folder.name
  if (config.name !== folder.name)
    throw invalid(
      `unexpected directory name '${folder.name}' for model '${config.name}', directory name must equal model name`,
    )
  const version = chosenVersions(config, folder.versions).at(-1) ?? folder.versions.at(-1)
  const found = version === undefined ? [] : await namesIn(join(folder.path, version))
  refuseBatchingLibrary(folder, [...found, ...(await namesIn(folder.path))])
  completeBackend(config, found)
  checkConfig(config)
  checkTensors(config, false)
  checkFields(config)
  return config
}

function namesIn(path: string): Promise<readonly string[]> {
  return onFile('read', path, () => readdir(path))
}

/** Triton loads it by its name alone. */
function refuseBatchingLibrary({ name }: ModelFolder, found: readonly string[]): void {
  const library = 'batchstrategy.so'
  if (found.includes(library))
    throw unsupported(
      `${library} of model '${name}' is not served, since it is native code: use dynamic_batching, and remove the file`,
    )
}
