// Names of classes, which an output's label_filename has.
import { join } from 'node:path'
import type { ModelFolder } from './folder.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import { invalid } from '../faults.js'
import { onFile, readText } from '../../base/files.js'

/**
 * The labels of each output that has any, by the output's name: a line each, from index 0.
 *
 * @throws Fault (as a rejection) INVALID_ARG for a file beyond the model's folder; TensorRTError ERR_TRT_FILE where it
 * cannot be read
 */
export async function readLabels(
  folder: ModelFolder,
  config: ModelConfig,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const labelled = config.output.filter(({ labelFilename }) => labelFilename !== '')
  return new Map(
    await Promise.all(
      labelled.map(async ({ name, labelFilename }) => [name, await linesOf(folder, labelFilename)] as const),
    ),
  )
}

async function linesOf(folder: ModelFolder, file: string): Promise<readonly string[]> {
  if (file.startsWith('/') || file.split('/').includes('..'))
    throw invalid(`Expected a label_filename within the folder of model '${folder.name}' but received '${file}'`)
  const path = join(folder.path, file)
  const text = await onFile('read', path, () => readText(path))
  const lines = text.split(/\r?\n/)
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}
