// A front-end over real models on onnxruntime, made of the same parts as `serve()`, so that a test sees slots, engines
// and records, too.
import { configJson } from '../../../../lib/serve/config/json.js'
import type { InferRecord } from '../../../../lib/serve/front/options.js'
import type { HttpOptions } from '../../../../lib/serve/http/options.js'
import { HttpFrontEnd } from '../../../../lib/serve/http/server.js'
import { EngineModel } from '../../../../lib/serve/models/engine-model.js'
import { Models } from '../../../../lib/serve/models/manager.js'
import type { ModelsSettings } from '../../../../lib/serve/models/settings.js'
import { FrontEndCounts } from '../../../../lib/serve/operations/front-end-counts.js'
import { Metrics } from '../../../../lib/serve/operations/metrics.js'
import { statisticsOf } from '../../../../lib/serve/operations/statistics.js'
import type { Statistics } from '../../../../lib/serve/public-types.js'
import { loadPeer } from '../../../../lib/serve/peers.js'
import { certain } from '../../../support/waiting.js'
import { settingsOf } from '../../models/stand-ins.js'

export interface RealServer extends AsyncDisposable {
  readonly front: HttpFrontEnd
  readonly models: Models
  /** Every version that was ever opened. */
  readonly opened: readonly EngineModel[]
  /** Of all requests for inferences, in the order in which they ended. */
  readonly records: readonly InferRecord[]
  readonly port: number
  /** What an operator scrapes. */
  metrics(): Promise<string>
}

export async function startReal(
  repository: string,
  settings: Partial<ModelsSettings> = {},
  options: Partial<HttpOptions> = {},
): Promise<RealServer> {
  const [opened, records, counts]: [EngineModel[], InferRecord[], FrontEndCounts] = [[], [], new FrontEndCounts()]
  const models = new Models(
    settingsOf(repository, { exitOnError: false, loadModels: ['*'], ...settings }),
    async (load) => {
      const model = await EngineModel.load(load)
      opened.push(model)
      return model
    },
  )
  const front = await HttpFrontEnd.listen({
    models,
    address: '127.0.0.1',
    port: 0,
    name: 'node-tensorrt',
    version: '1.2.3',
    configJson: ({ config }) => configJson(config),
    statistics: (servables): Statistics => statisticsOf(servables, (servable) => counts.failedNs(servable)),
    counters: {
      onInfer: (record) => {
        records.push(record)
        counts.onInfer(record)
      },
    },
    ...options,
  })
  await models.start()
  const source = {
    get servables() {
      return models.snapshot.all
    },
    loadSeconds: () => undefined,
    refused: (version: { readonly name: string; readonly version: string }) => counts.refused(version),
  }
  const metrics = new Metrics(await loadPeer('prom-client'), source, { counterLatencies: false, cpu: false })
  return {
    front,
    models,
    opened,
    records,
    port: front.address.port,
    metrics: async () => (await metrics.text()).body,
    async [Symbol.asyncDispose]() {
      await front.close()
      await models.close()
    },
  }
}

/** Waits until no request, byte, version or slot is held any more; fails where one stays. */
export async function idle({ front, models, opened }: RealServer): Promise<void> {
  await certain(() => front.inFlight === 0 && front.bytesInFlight === 0 && models.inFlight === 0)
  await certain(() =>
    opened.every(({ slots, inFlight }) => slots.inUse === 0 && slots.bytesInUse === 0 && inFlight === 0),
  )
}

/** Sockets and timers that keep this process alive. */
export function handles(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo())
    if (/TCP|Timeout/.test(name)) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
