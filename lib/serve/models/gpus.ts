// Which GPUs an instance group has that names none.
import { instancesOf } from '../config/instances.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import { capabilities } from '../../capabilities.js'
import type { EngineSettings } from './settings.js'

/** Looked up once for a server, when the first of its models wants to know. */
const ofMachine = new WeakMap<EngineSettings, Promise<readonly number[]>>()

/**
 * The GPUs of groups that name none: those of the settings, else all of the machine, as in Triton. Not looked up where
 * no group needs them.
 */
export async function gpusFor(config: ModelConfig, settings: EngineSettings): Promise<readonly number[]> {
  if (settings.gpus !== undefined) return settings.gpus
  if (settings.backend === 'cpu' || !hasGroupWithoutGpus(config)) return [0]
  const known = ofMachine.get(settings) ?? gpusOfMachine(settings)
  ofMachine.set(settings, known)
  return known
}

function hasGroupWithoutGpus(config: ModelConfig): boolean {
  return instancesOf(config, []).length < instancesOf(config, [0]).length
}

/** GPU 0 where none is seen: its engine says what is missing, and what to do about it. */
async function gpusOfMachine({ tensorrt }: EngineSettings): Promise<readonly number[]> {
  const { gpus } = await capabilities(tensorrt === undefined ? {} : { tensorrt })
  return gpus.length === 0 ? [0] : gpus.map(({ index }) => index)
}
