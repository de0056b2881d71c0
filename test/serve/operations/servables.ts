import { create } from '@bufbuild/protobuf'
import type { EngineCounters } from '../../../lib/backend/backend.js'
import { ModelConfigSchema } from '../../../lib/kserve/messages/model_config_pb.js'
import type { Servable } from '../../../lib/serve/models/servable.js'

const none: EngineCounters = {
  requests: 0,
  rows: 0,
  executions: 0,
  failures: { rejected: 0, queueTimeout: 0, cancelledWaiting: 0, cancelledRunning: 0, failed: 0 },
  queueNs: 0,
  inputNs: 0,
  computeNs: 0,
  outputNs: 0,
  batchSizes: [],
  sampled: { executions: 0, copyInNs: 0, computeNs: 0, copyOutNs: 0 },
}

/** A version of a model that says what it was told to, and runs nothing. */
export function silent(
  name: string,
  version: string,
  counters: Partial<EngineCounters> = {},
  { tags = {}, ...others }: Partial<Servable> & { readonly tags?: { [tag: string]: string } } = {},
): Servable {
  const refuse = (): never => {
    throw new Error('This one runs nothing')
  }
  return {
    name,
    version,
    config: create(ModelConfigSchema, { name, metricTags: tags }),
    platform: 'onnxruntime_onnx',
    inputs: new Map(),
    outputs: new Map(),
    reserve: refuse,
    infer: refuse,
    counters: () => ({ ...none, ...counters }),
    lastInference: 0,
    enter: refuse,
    close: () => Promise.resolve(),
    ...others,
  }
}
