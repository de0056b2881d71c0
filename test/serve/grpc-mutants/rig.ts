// A front-end of gRPC over the recorded models, made of the same parts as `serve()`, so that a test sees what is held,
// too.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { GrpcFrontEnd } from '../../../lib/serve/grpc/server.js'
import { loadVersion } from '../../../lib/serve/models/load-version.js'
import { Models } from '../../../lib/serve/models/manager.js'
import type { LoadedVersion } from '../../../lib/serve/models/servable.js'
import { FrontEndCounts } from '../../../lib/serve/operations/front-end-counts.js'
import { statisticsOf } from '../../../lib/serve/operations/statistics.js'
import { temporaryFolder } from '../../support/folders.js'
import { certain } from '../../support/waiting.js'
import { settingsOf } from '../models/stand-ins.js'
import { writeServed } from '../recorded/onnx.js'
import { models as recorded } from '../recorded/repository.js'

export interface Rig extends AsyncDisposable {
  readonly front: GrpcFrontEnd
  readonly models: Models
  /** Every version that was ever opened. */
  readonly opened: readonly LoadedVersion[]
  readonly port: number
}

/** Batches wait for a moment only, and requests as long as a busy machine takes. */
const quick = recorded.map((model) => ({
  ...model,
  config: model.config
    .replace(/(?<=queue_delay_microseconds: )\d+/, '500')
    .replace(/(?<=default_timeout_microseconds: )\d+/, '60000000'),
}))

export async function startRecorded(t: Test): Promise<Rig> {
  const repository = join(temporaryFolder(t), 'repository')
  await mkdir(repository)
  for (const model of quick) await writeServed(repository, model)
  const [opened, counts]: [LoadedVersion[], FrontEndCounts] = [[], new FrontEndCounts()]
  const loadModels = quick.filter(({ loaded }) => loaded).map(({ name }) => name)
  const models = new Models(
    settingsOf(repository, { exitOnError: false, autoComplete: false, loadModels }),
    async (load) => {
      const version = await loadVersion(load)
      opened.push(version)
      return version
    },
  )
  const front = await GrpcFrontEnd.listen({
    models,
    address: '127.0.0.1',
    port: 0,
    name: 'node-tensorrt',
    version: '1.2.3',
    statistics: (servables) => statisticsOf(servables, (servable) => counts.failedNs(servable)),
    counters: counts,
  })
  await models.start()
  return {
    front,
    models,
    opened,
    port: front.address.port,
    async [Symbol.asyncDispose]() {
      await front.close()
      await models.close()
    },
  }
}

/** Waits until no call, byte or version is held any more; fails where one stays. */
export async function idle({ front, models, opened }: Rig): Promise<void> {
  await certain(() => front.inFlight === 0 && front.bytesInFlight === 0 && models.inFlight === 0)
  await certain(() => opened.every(({ inFlight }) => inFlight === 0))
}
