// The health service of gRPC: of the whole server, and of each model by its name.
import { create } from '@bufbuild/protobuf'
import { encodeMessage, healthMethods } from '../../kserve/methods.js'
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Status,
  HealthCheckResponseSchema,
} from '../../kserve/messages/health_pb.js'
import { Fault } from '../faults.js'
import type { GrpcFront, OutStream } from './call.js'

/** What a probe may call the server as a whole. */
const wholeServer: readonly string[] = ['', 'inference.GRPCInferenceService', 'grpc.health.v1.Health']

interface Watcher {
  readonly service: string
  readonly out: OutStream
  told: Status | undefined
}

export class Health {
  readonly #front: Pick<GrpcFront, 'isStopping' | 'parts'>
  readonly #watchers = new Set<Watcher>()

  constructor(front: Pick<GrpcFront, 'isStopping' | 'parts'>) {
    this.#front = front
  }

  /** @throws Fault NOT_FOUND for what is no model */
  check({ service }: HealthCheckRequest): HealthCheckResponse {
    const status = this.#statusOf(service)
    if (status === Status.SERVICE_UNKNOWN)
      throw new Fault('NOT_FOUND', `unknown service '${service}': it may be '' or the name of a model`)
    return create(HealthCheckResponseSchema, { status })
  }

  /** Tells it now, and whenever it has changed, until what this gives is called. */
  watch({ service }: HealthCheckRequest, out: OutStream): () => void {
    const watcher: Watcher = { service, out, told: undefined }
    this.#watchers.add(watcher)
    this.#tell(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** Those who watch. */
  get watching(): number {
    return this.#watchers.size
  }

  /** A model, or the server, may be in another state now. */
  changed(): void {
    for (const watcher of this.#watchers) this.#tell(watcher)
  }

  #tell(watcher: Watcher): void {
    const status = this.#statusOf(watcher.service)
    if (status === watcher.told) return
    watcher.told = status
    watcher.out.send(encodeMessage(healthMethods.watch.output, create(HealthCheckResponseSchema, { status })), () => {})
  }

  #statusOf(service: string): Status {
    const { parts, isStopping } = this.#front
    const { models } = parts
    const isServing = (ready: boolean): Status => (ready && !isStopping ? Status.SERVING : Status.NOT_SERVING)
    if (wholeServer.includes(service)) return isServing(models.isReady())
    if (models.snapshot.versions(service).length > 0) return isServing(true)
    return models.index(false).some(({ name }) => name === service) ? Status.NOT_SERVING : Status.SERVICE_UNKNOWN
  }
}
