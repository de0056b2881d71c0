// What front-ends tell of a server and its models, as messages.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type InferBatchStatisticsSchema,
  type InferStatisticsSchema,
  type ModelMetadataResponse,
  ModelMetadataResponseSchema,
  type ModelStatisticsResponse,
  ModelStatisticsResponseSchema,
  type ModelStatisticsSchema,
  type StatisticDurationSchema,
} from '../../kserve/messages/grpc_service_pb.js'
import type { ModelMetadata, TensorMetadata } from '../front/describe.js'
import type {
  BatchStatistics,
  DurationStatistic,
  InferenceStatistics,
  ModelStatistics,
  Statistics,
} from '../public-types.js'

export function metadataMessage({ inputs, outputs, versions, ...texts }: ModelMetadata): ModelMetadataResponse {
  const tensor = ({ shape, ...texts }: TensorMetadata) => ({ ...texts, shape: shape.map(BigInt) })
  return create(ModelMetadataResponseSchema, {
    ...texts,
    versions: [...versions],
    inputs: inputs.map(tensor),
    outputs: outputs.map(tensor),
  })
}

export function statisticsMessage({ model_stats: models }: Statistics): ModelStatisticsResponse {
  return create(ModelStatisticsResponseSchema, { modelStats: models.map(ofModel) })
}

function ofModel(statistics: ModelStatistics): MessageInitShape<typeof ModelStatisticsSchema> {
  const { name, version, last_inference, inference_count, execution_count, inference_stats, batch_stats } = statistics
  return {
    name,
    version,
    lastInference: BigInt(last_inference),
    inferenceCount: BigInt(inference_count),
    executionCount: BigInt(execution_count),
    inferenceStats: ofInferences(inference_stats),
    batchStats: batch_stats.map(ofBatches),
  }
}

function ofInferences(statistics: InferenceStatistics): MessageInitShape<typeof InferStatisticsSchema> {
  return {
    success: duration(statistics.success),
    fail: duration(statistics.fail),
    queue: duration(statistics.queue),
    computeInput: duration(statistics.compute_input),
    computeInfer: duration(statistics.compute_infer),
    computeOutput: duration(statistics.compute_output),
    cacheHit: duration(statistics.cache_hit),
    cacheMiss: duration(statistics.cache_miss),
  }
}

function ofBatches(statistics: BatchStatistics): MessageInitShape<typeof InferBatchStatisticsSchema> {
  return {
    batchSize: BigInt(statistics.batch_size),
    computeInput: duration(statistics.compute_input),
    computeInfer: duration(statistics.compute_infer),
    computeOutput: duration(statistics.compute_output),
  }
}

function duration({ count, ns }: DurationStatistic): MessageInitShape<typeof StatisticDurationSchema> {
  return { count: BigInt(Math.round(count)), ns: BigInt(Math.round(ns)) }
}
