// instance_group with its defaults, held against the model.
import { create } from '@bufbuild/protobuf'
import type { ModelFacts } from './model-facts.js'
import { defaultCount, groupName, instancesOf, kindOf, profileNumbers } from './instances.js'
import {
  type ModelConfig,
  type ModelInstanceGroup,
  ModelInstanceGroup_Kind as Kind,
  ModelInstanceGroupSchema,
} from '../../kserve/messages/model_config_pb.js'
import { invalid, unsupported } from '../faults.js'

const mostGpu = 1023

/** @throws Fault */
export function completeInstances(config: ModelConfig, facts: ModelFacts, gpus: readonly number[]): void {
  if (config.instanceGroup.length === 0)
    config.instanceGroup = [create(ModelInstanceGroupSchema, { name: config.name })]
  for (const [index, group] of config.instanceGroup.entries()) {
    completeGroup(config, group, index, gpus)
    checkGroup(config, group, facts)
  }
  instancesOf(config, gpus)
}

function completeGroup(config: ModelConfig, group: ModelInstanceGroup, index: number, gpus: readonly number[]): void {
  group.name = groupName(config, group, index)
  const kind = kindOf(config, group)
  if (group.count < 1) group.count = defaultCount(config, kind)
  group.kind = kind === 'cpu' ? Kind.CPU : Kind.GPU
  if (kind === 'gpu' && group.gpus.length === 0) group.gpus = [...gpus]
}

function checkGroup(config: ModelConfig, group: ModelInstanceGroup, facts: ModelFacts): void {
  const owner = `instance group ${group.name} of model ${config.name}`
  if (group.kind === Kind.CPU && group.gpus.length > 0)
    throw invalid(`${owner} has kind KIND_CPU but specifies one or more GPUs`)
  if (group.kind === Kind.CPU && facts.format === 'plan')
    throw invalid(
      `${owner} has kind KIND_CPU, but the model is a TensorRT plan, which runs on a GPU: give KIND_GPU, or the model as model.onnx`,
    )
  if (group.kind === Kind.GPU && group.gpus.length === 0)
    throw invalid(`${owner} has kind KIND_GPU but no GPUs are available`)
  const odd = group.gpus.find((gpu) => gpu < 0 || gpu > mostGpu)
  if (odd !== undefined)
    throw invalid(`${owner} specifies invalid or unsupported gpu id ${odd}. Expected numbers from 0`)
  checkProfiles(config, group, facts)
}

function checkProfiles(config: ModelConfig, group: ModelInstanceGroup, { inputs }: ModelFacts): void {
  if (group.profile.length === 0) return
  const owner = `instance group ${group.name} of model ${config.name}`
  if (config.platform !== 'tensorrt_plan')
    throw invalid(
      `${owner} and platform ${config.platform} specifies profile field which is only supported for TensorRT models`,
    )
  const numbers = [...new Set(profileNumbers(group))]
  const count = Math.max(1, ...inputs.map(({ profiles }) => profiles.length))
  const beyond = numbers.find((number) => number >= count)
  if (beyond !== undefined)
    throw invalid(`${owner} specifies profile ${beyond}, but the model has profiles 0 to ${count - 1}`)
  if (numbers.length > 1 && numbers.length < count)
    throw unsupported(
      `${owner} specifies the profiles ${numbers.join(', ')} of 0 to ${count - 1}, which is not served: give one of them, or none for the best of all in each batch`,
    )
}
