// instance_group: which engines a model has, on what, and how many lanes each.
import { create } from '@bufbuild/protobuf'
import {
  type ModelConfig,
  type ModelInstanceGroup,
  ModelInstanceGroup_Kind as Kind,
  ModelInstanceGroupSchema,
} from '../../kserve/messages/model_config_pb.js'
import { invalid, unsupported } from '../faults.js'
import type { ModelFacts } from './model-facts.js'

/** An engine of a model. */
export interface Instance {
  readonly kind: 'gpu' | 'cpu'
  /** The number of the GPU; 0 on the CPU. */
  readonly device: number
  readonly lanes: number
  /** The number of the optimization profile; `auto`: for each batch the one that fits best. */
  readonly profile: 'auto' | number
}

const mostLanes = 64

/**
 * The engines of a configuration: one for each group and GPU. KIND_AUTO is a GPU for tensorrt, and the CPU for
 * onnxruntime and node.
 *
 * @param gpus the GPUs of a group that names none
 * @throws Fault INVALID_ARG, or UNSUPPORTED for a kind that is not served
 */
export function instancesOf(config: ModelConfig, gpus: readonly number[] = [0]): readonly Instance[] {
  const groups = config.instanceGroup.length === 0 ? [create(ModelInstanceGroupSchema)] : config.instanceGroup
  return groups.flatMap((group, index) => ofGroup(config, { ...group, name: groupName(config, group, index) }, gpus))
}

function ofGroup(config: ModelConfig, group: ModelInstanceGroup, gpus: readonly number[]): readonly Instance[] {
  const kind = kindOf(config, group)
  const lanes = lanesOf(config, group, kind)
  const profile = profileOf(group)
  if (kind === 'cpu') return [{ kind, device: 0, lanes, profile }]
  const devices = group.gpus.length > 0 ? group.gpus : gpus
  return devices.map((device) => ({ kind, device, lanes, profile }))
}

export function groupName({ name }: ModelConfig, group: ModelInstanceGroup, index: number): string {
  return group.name === '' ? `${name}_${index}` : group.name
}

/** Where the instances of a group run. @throws Fault UNSUPPORTED */
export function kindOf(config: ModelConfig, { kind, name, gpus }: ModelInstanceGroup): 'gpu' | 'cpu' {
  const owner = `instance group ${name} of model ${config.name}`
  if (kind === Kind.CPU) return 'cpu'
  if (kind === Kind.MODEL)
    throw unsupported(`${owner} has kind KIND_MODEL, which is not served: give KIND_GPU with its gpus, or KIND_CPU`)
  if (config.backend === 'node')
    return ofNode(owner, kind === Kind.GPU ? 'kind KIND_GPU' : gpus.length > 0 ? 'gpus' : undefined)
  if (config.backend !== 'onnxruntime') return 'gpu'
  if (kind === Kind.AUTO && gpus.length === 0) return 'cpu'
  const wish = kind === Kind.AUTO ? 'gpus' : 'kind KIND_GPU'
  throw unsupported(
    `${owner} has ${wish}, but onnxruntime runs on the CPU here: give backend: "tensorrt", which builds model.onnx for the GPU, or KIND_CPU without gpus`,
  )
}

function ofNode(owner: string, onGpu: string | undefined): 'cpu' {
  if (onGpu === undefined) return 'cpu'
  const remedy = 'leave it out, or give KIND_CPU; what computes on a GPU is a model of its own, such as a model.plan'
  throw unsupported(`${owner} has ${onGpu}, but JavaScript runs on the CPU: ${remedy}`)
}

/** As Triton: 1, and 2 of onnxruntime on the CPU. */
export function defaultCount(config: ModelConfig, kind: 'gpu' | 'cpu'): number {
  return kind === 'cpu' && config.backend === 'onnxruntime' ? 2 : 1
}

function lanesOf(config: ModelConfig, group: ModelInstanceGroup, kind: 'gpu' | 'cpu'): number {
  const count = group.count < 1 ? defaultCount(config, kind) : group.count
  if (count <= mostLanes) return count
  throw unsupported(
    `Expected at most ${mostLanes} for instance_group.count of model ${config.name} but received ${count}`,
  )
}

/** One number is that profile; none, or several, are all of them (which completeConfig checks). */
function profileOf(group: ModelInstanceGroup): 'auto' | number {
  const [only, ...others] = new Set(profileNumbers(group))
  return only === undefined || others.length > 0 ? 'auto' : only
}

/** @throws Fault INVALID_ARG where one is no number from 0 */
export function profileNumbers({ name, profile: profiles }: ModelInstanceGroup): readonly number[] {
  return profiles.map((profile) => {
    if (/^\d{1,4}$/.test(profile)) return Number(profile)
    throw invalid(
      `instance group ${name} specifies invalid profile ${profile}. The field should contain the string representation of a non-negative integer.`,
    )
  })
}

// instance_group with its defaults, held against the model.

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
