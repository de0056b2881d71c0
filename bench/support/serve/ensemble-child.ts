/** Our server over an ensemble whose model takes no time, on the fakes, and the same three calls in process. */
import { Engine } from '../../../lib/index.js'
import { serve } from '../../../lib/serve/index.js'
import { stretch, toTensor, type ToTensorOptions } from '../../../lib/vision/index.js'
import { identityPlan } from '../../../test/fake/plan.js'
import { useFakes } from '../../../test/native/fakes.js'
import { keepInFlight, throughput } from '../measure.js'
import { answering } from './child.js'
import { ensembleRepository, side } from './ensemble-repositories.js'
import { pictures } from './pictures.js'

const { fakes } = await useFakes()
const server = await serve({
  modelRepository: ensembleRepository(),
  http: { port: 0, address: '127.0.0.1' },
  engine: { tensorrt: { library: fakes.trt10 } },
})

const shape = [3, side, side]
const profile = { min: [1, ...shape], opt: [8, ...shape], max: [8, ...shape] }
const plan = identityPlan([-1, ...shape], { profiles: [{ dims: { x: profile } }] })
const engine = await Engine.load(plan, {
  inputs: { x: 'float32' },
  outputs: { y: 'float32' },
  tensorrt: { library: fakes.trt10 },
  lanes: 1,
  batching: { maxBatch: 8 },
})
const options = {
  filter: 'triangle',
  round: true,
  range: '0-1',
  mean: [0.485, 0.456, 0.406],
  std: [0.229, 0.224, 0.225],
} as const satisfies ToTensorOptions

async function label(jpeg: Uint8Array): Promise<string> {
  const into = engine.allocate('x', [1, ...shape])
  const { data } = await engine.infer(await toTensor(jpeg, (size) => stretch(size, side), { ...options, into }))
  let best = 0
  for (let i = 1; i < data.length; i++) if (data[i]! > data[best]!) best = i
  return String(best)
}

/** Labels a second of 8 callers that ask again at once. */
async function inProcess(jpeg: Uint8Array, count: number): Promise<number> {
  await keepInFlight(8, 8, () => label(jpeg))
  return throughput(8, count, () => label(jpeg))
}

const { vga, twelve } = await pictures()
answering(server.addresses.http?.port, {
  'VGA in process': () => inProcess(vga, 400),
  'VGA label': () => label(vga),
  '12 MP in process': () => inProcess(twelve, 24),
  '12 MP label': () => label(twelve),
  'mean batch': () => {
    const [model] = server.statistics('network').model_stats
    return model === undefined ? NaN : model.inference_count / model.execution_count
  },
})
