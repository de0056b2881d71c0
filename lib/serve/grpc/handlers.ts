// All calls of one message, from bytes to bytes.
import { create, fromJson, type JsonValue, type MessageShape } from '@bufbuild/protobuf'
import { encodeInferResponse } from '../../kserve/infer-response.js'
import {
  decodeMessage,
  encodeMessage,
  healthMethods,
  inferenceMethods as rpcs,
  pathOf,
  type PlainMethod,
} from '../../kserve/methods.js'
import { type Fault, faultOf, invalid, unsupported } from '../faults.js'
import { extensions, metadataOf, notServed, versionsOf } from '../front/describe.js'
import type { Servable, Snapshot } from '../models/servable.js'
import type { LoadParameters, RestrictedCategory } from '../public-types.js'
import type { CallContext, GrpcFront, Outgoing } from './call.js'
import type { Health } from './health.js'
import { Inference } from './inference.js'
import type { ModelRepositoryParameter } from '../../kserve/messages/grpc_service_pb.js'

export type UnaryHandler = (bytes: Uint8Array, context: CallContext) => Outgoing | Promise<Outgoing>

export interface UnaryMethod {
  readonly path: string
  readonly category: RestrictedCategory
  /** @throws Fault, also as a rejection */
  readonly handle: UnaryHandler
}

export function unaryMethods(front: GrpcFront, health: Health): readonly UnaryMethod[] {
  return [...healthCalls(front, health), ...modelCalls(front), ...repositoryCalls(front), ...absentCalls()]
}

type Method<M extends PlainMethod> = (
  message: MessageShape<M['input']>,
) => MessageShape<M['output']> | Promise<MessageShape<M['output']>>

/** A method whose messages are decoded and encoded whole; its bytes count as in flight until the call is over. */
function plain<M extends PlainMethod>(category: RestrictedCategory, method: M, body: Method<M>): UnaryMethod {
  const handle: UnaryHandler = async (bytes, { account }) => {
    account.takeUpTo(bytes.length)
    const message = decodeMessage(method.input as M['input'], bytes)
    return encodeMessage(method.output as M['output'], await body(message))
  }
  return { path: pathOf(method), category, handle }
}

function healthCalls(front: GrpcFront, health: Health): readonly UnaryMethod[] {
  const { models } = front.parts
  return [
    plain('health', rpcs.serverLive, () => create(rpcs.serverLive.output, { live: true })),
    plain('health', rpcs.serverReady, () =>
      create(rpcs.serverReady.output, { ready: models.isReady() && !front.isStopping }),
    ),
    plain('health', rpcs.modelReady, ({ name, version }) =>
      create(rpcs.modelReady.output, { ready: isReady(() => models.snapshot.find(name, given(version))) }),
    ),
    plain('health', healthMethods.check, (request) => health.check(request)),
  ]
}

/** An empty text is none. */
function given(version: string): string | undefined {
  return version === '' ? undefined : version
}

/** A model that nobody knows is not ready; a version that is no number is a fault. */
function isReady(find: () => unknown): boolean {
  try {
    find()
    return true
  } catch (error) {
    if (faultOf(error).kind === 'INVALID_ARG') throw error
    return false
  }
}

function modelCalls(front: GrpcFront): readonly UnaryMethod[] {
  const { name, version, models, statistics } = front.parts
  return [
    { path: pathOf(rpcs.modelInfer), category: 'inference', handle: (bytes, context) => infer(front, bytes, context) },
    plain('metadata', rpcs.serverMetadata, () =>
      create(rpcs.serverMetadata.output, { name, version, extensions: [...extensions] }),
    ),
    plain('metadata', rpcs.modelMetadata, (request) =>
      fromJson(rpcs.modelMetadata.output, jsonOf(metadataOf(models.snapshot, request.name, given(request.version)))),
    ),
    plain('model-config', rpcs.modelConfig, (request) =>
      create(rpcs.modelConfig.output, { config: models.snapshot.find(request.name, given(request.version)).config }),
    ),
    plain('statistics', rpcs.modelStatistics, ({ name: model, version: wanted }) => {
      const { snapshot } = models
      const found = model === '' ? snapshot.all : versionsFor(snapshot, model, given(wanted))
      return fromJson(rpcs.modelStatistics.output, jsonOf(statistics(found)))
    }),
  ]
}

/** All versions unless one is named. @throws Fault INVALID_ARG */
function versionsFor(snapshot: Snapshot, name: string, version: string | undefined): readonly Servable[] {
  try {
    if (version !== undefined) return [snapshot.find(name, version)]
  } catch (error) {
    if (faultOf(error).kind === 'INVALID_ARG') throw error
  }
  return versionsOf(snapshot, name, version)
}

async function infer(front: GrpcFront, bytes: Uint8Array, context: CallContext): Promise<Outgoing> {
  return encodeInferResponse(await new Inference(front, context).run(bytes))
}

/** The model repository extension. */
function repositoryCalls(front: GrpcFront): readonly UnaryMethod[] {
  const { models } = front.parts
  const category = 'model-repository'
  return [
    plain(category, rpcs.repositoryIndex, async ({ repositoryName, ready }) => {
      refuseRepository(repositoryName)
      await models.refresh?.()
      return fromJson(rpcs.repositoryIndex.output, jsonOf({ models: models.index(ready) }))
    }),
    plain(category, rpcs.repositoryModelLoad, async ({ repositoryName, modelName, parameters }) => {
      refuseRepository(repositoryName)
      await models.load(modelName, loadParameters(parameters))
      return create(rpcs.repositoryModelLoad.output)
    }),
    plain(category, rpcs.repositoryModelUnload, async ({ repositoryName, modelName, parameters }) => {
      refuseRepository(repositoryName)
      const dependents = parameters['unload_dependents']?.parameterChoice
      if (dependents !== undefined && dependents.case !== 'boolParam')
        throw invalid("invalid value type for 'unload_dependents' parameter, expected bool_param.")
      await models.unload(modelName, dependents?.value ?? false)
      return create(rpcs.repositoryModelUnload.output)
    }),
  ]
}

/** What Triton has and this server has not. */
function absentCalls(): readonly UnaryMethod[] {
  const absent = (
    category: RestrictedCategory,
    what: string,
    methods: readonly PlainMethod[],
  ): readonly UnaryMethod[] =>
    methods.map((method) => ({
      path: pathOf(method),
      category,
      handle: (): Outgoing => {
        throw notServed(what)
      },
    }))
  const system = [rpcs.systemSharedMemoryStatus, rpcs.systemSharedMemoryRegister, rpcs.systemSharedMemoryUnregister]
  const cuda = [rpcs.cudaSharedMemoryStatus, rpcs.cudaSharedMemoryRegister, rpcs.cudaSharedMemoryUnregister]
  return [
    ...absent('shared-memory', 'system shared memory is', system),
    ...absent('shared-memory', 'CUDA shared memory is', cuda),
    ...absent('trace', 'trace settings are', [rpcs.traceSetting]),
    ...absent('logging', 'log settings are', [rpcs.logSettings]),
  ]
}

function refuseRepository(name: string): void {
  if (name !== '') throw unsupported("'repository_name' specification is not supported")
}

/** @throws Fault INVALID_ARG with Triton's texts */
function loadParameters(given: Readonly<Record<string, ModelRepositoryParameter>>): LoadParameters {
  let config: string | undefined
  const files = new Map<string, Uint8Array>()
  for (const [name, { parameterChoice: choice }] of Object.entries(given)) {
    if (name === 'config') {
      if (choice.case !== 'stringParam') throw wrongType(name, 'string_param')
      config = choice.value
    } else if (name.startsWith('file:')) {
      if (choice.case !== 'bytesParam') throw wrongType(name, 'bytes_param')
      files.set(name.slice('file:'.length), choice.value)
    } else throw invalid(`unrecognized load parameter '${name}'.`)
  }
  return { config, files }
}

function wrongType(name: string, wanted: string): Fault {
  return invalid(`invalid value type for load parameter '${name}', expected ${wanted}.`)
}

/** What HTTP sends has the names of the proto; durations are whole nanoseconds in messages. */
function jsonOf(value: object): JsonValue {
  const whole = (_name: string, inner: unknown): unknown => (typeof inner === 'number' ? Math.round(inner) : inner)
  return JSON.parse(JSON.stringify(value), whole) as JsonValue
}
