// The model repository extension.
import { create, type MessageShape } from '@bufbuild/protobuf'
import type { inferenceMethods } from '../../kserve/methods.js'
import {
  type ModelRepositoryParameter,
  type RepositoryIndexResponse,
  RepositoryIndexResponseSchema,
} from '../../kserve/messages/grpc_service_pb.js'
import { type Fault, invalid, unsupported } from '../faults.js'
import type { ModelControl } from '../models/control.js'
import type { LoadParameters } from '../public-types.js'

type Message<M extends keyof typeof inferenceMethods> = MessageShape<(typeof inferenceMethods)[M]['input']>

export async function index(
  models: ModelControl,
  { repositoryName, ready }: Message<'repositoryIndex'>,
): Promise<RepositoryIndexResponse> {
  refuseRepository(repositoryName)
  await models.refresh?.()
  const found = models
    .index(ready)
    .map(({ name, version = '', state = '', reason = '' }) => ({ name, version, state, reason }))
  return create(RepositoryIndexResponseSchema, { models: found })
}

export async function load(models: ModelControl, request: Message<'repositoryModelLoad'>): Promise<void> {
  refuseRepository(request.repositoryName)
  await models.load(request.modelName, loadParameters(request.parameters))
}

export async function unload(
  models: ModelControl,
  { repositoryName, modelName, parameters }: Message<'repositoryModelUnload'>,
): Promise<void> {
  refuseRepository(repositoryName)
  const dependents = parameters['unload_dependents']?.parameterChoice
  if (dependents !== undefined && dependents.case !== 'boolParam')
    throw invalid("invalid value type for 'unload_dependents' parameter, expected bool_param.")
  await models.unload(modelName, dependents?.value ?? false)
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
  return { ...(config !== undefined && { config }), ...(files.size > 0 && { files }) }
}

function wrongType(name: string, wanted: string): Fault {
  return invalid(`invalid value type for load parameter '${name}', expected ${wanted}.`)
}
