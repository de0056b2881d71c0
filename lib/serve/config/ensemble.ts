// What the configuration of an ensemble may say beside its steps: Triton's rules, in its words.
import { create } from '@bufbuild/protobuf'
import {
  type ModelConfig,
  type ModelEnsembling,
  ModelTransactionPolicySchema,
} from '../../kserve/messages/model_config_pb.js'
import { completeVersions } from './backends.js'
import { checkTensors } from './validate.js'
import { invalid } from '../faults.js'

const platform = 'ensemble'

export function isEnsemble({ platform: given, schedulingChoice }: ModelConfig): boolean {
  return given === platform || schedulingChoice.case === 'ensembleScheduling'
}

/**
 * Fills in what `/config` tells, and checks all but the steps.
 *
 * @throws Fault INVALID_ARG
 */
export function completeEnsemble(config: ModelConfig): ModelEnsembling {
  const { name, schedulingChoice } = config
  if (config.platform !== platform)
    throw invalid(
      `ensemble scheduling cannot be set for model '${name}' whose platform is not ${platform}: give platform: "${platform}"`,
    )
  if (config.backend !== '')
    throw invalid(
      `Ensemble model '${name}' must have platform type '${platform}' and empty backend type: leave backend "${config.backend}" out`,
    )
  if (schedulingChoice.case !== 'ensembleScheduling')
    throw invalid(
      `ensemble scheduling must be set for ensemble ${name} whose platform is ${platform}: give ensemble_scheduling with its steps`,
    )
  checkFieldsOfEngines(config)
  for (const kind of ['input', 'output'] as const) checkNames(config, kind)
  checkTensors(config, true)
  completeVersions(config)
  config.modelTransactionPolicy ??= create(ModelTransactionPolicySchema)
  return schedulingChoice.value
}

function checkFieldsOfEngines({ name, instanceGroup, optimization, modelWarmup }: ModelConfig): void {
  const belongs = 'its models have their own'
  if (instanceGroup.length > 0)
    throw invalid(`instance group should not be specified for ensemble '${name}': ${belongs}`)
  if (optimization !== undefined)
    throw invalid(`optimization should not be specified for ensemble '${name}': ${belongs}`)
  if (modelWarmup.length > 0) throw invalid(`model_warmup can not be specified for ensemble '${name}': ${belongs}`)
}

/** They follow from no file: a configuration has them all. */
function checkNames(config: ModelConfig, kind: 'input' | 'output'): void {
  const names = config[kind].map((tensor) => tensor.name)
  if (names.length === 0)
    throw invalid(`must specify '${kind}' for ensemble '${config.name}': an ensemble has no file that would tell it`)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined) throw invalid(`${kind} '${twice}' of ensemble '${config.name}' is specified twice`)
}
