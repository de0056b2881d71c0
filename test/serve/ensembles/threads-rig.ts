// Ensembles with modules among their steps, on the fakes and on onnxruntime: their repositories, and what is left of
// them.
import type { Engine } from '../../../lib/engine.js'
import type { WireTensor } from '../../../lib/kserve/tensor.js'
import { Cut } from '../../../lib/base/cancellation.js'
import { EnsembleModel } from '../../../lib/serve/ensembles/ensemble-model.js'
import { EngineModel } from '../../../lib/serve/models/engine-model.js'
import { Models } from '../../../lib/serve/models/manager.js'
import type { Servable, ServableRequest } from '../../../lib/serve/models/servable.js'
import type { ModelEvent, ModelsSettings } from '../../../lib/serve/models/settings.js'
import { liveWorkers } from '../../../lib/serve/node/module-worker.js'
import { NodeModel } from '../../../lib/serve/node/node-model.js'
import { leftovers, planOf, rowsPlan, type Runtime } from '../../lanes/rig.js'
import { certain } from '../../support/waiting.js'
import { type Files, floats, repository, wire } from '../models/folders.js'
import { settingsOf } from '../models/stand-ins.js'
import { ensemble, type EnsembleText } from './rig.js'

type Teardown = Parameters<typeof repository>[0]

/** The file and config of a model of three floats each way: `y = relu(2 · x + 1)`. */
export function engineFiles(runtime: Runtime, name = 'engine', more = ''): Files {
  const isPlan = runtime.backend === 'tensorrt'
  return {
    [`${name}/config.pbtxt`]: `backend: "${isPlan ? 'tensorrt' : 'onnxruntime'}" max_batch_size: 8 ${more}
      input { name: "x" data_type: TYPE_FP32 dims: 3 } output { name: "y" data_type: TYPE_FP32 dims: 3 }`,
    [`${name}/1/model.${isPlan ? 'plan' : 'onnx'}`]: planOf(runtime, rowsPlan(3, 8)),
  }
}

/** A module with inputs and outputs as a line each: `x FP32 [3]`. */
export function moduleFiles(
  name: string,
  code: string,
  inputs: readonly string[],
  outputs: readonly string[],
  more = '',
): Files {
  const tensor = (kind: string, line: string): string => {
    const [of = '', type = '', ...dims] = line.split(' ')
    return `${kind} { name: "${of}" data_type: TYPE_${type} dims: ${dims.join('')} }`
  }
  const tensors = [
    ...inputs.map((line) => tensor('input', line)),
    ...outputs.map((line) => tensor('output', line)),
  ].join(' ')
  const batches = more.includes('max_batch_size') ? '' : 'max_batch_size: 8'
  return { [`${name}/config.pbtxt`]: `backend: "node" ${batches} ${more} ${tensors}`, [`${name}/1/model.js`]: code }
}

/**
 * Triples bytes as floats, in the memory that it is given; `own`: in memory of its own; `fails`, and so on as the
 * parameter `pre` says. `flag`: a file that is there once it exits.
 */
export const tripleCode = `
  import { writeFileSync } from 'node:fs'
  import { Tensor } from 'node-tensorrt'
  const ways = {
    fails() { throw new Error('no picture') },
    loops() { for (;;); },
    exits({ parameters: { flag } }) { if (flag) writeFileSync(flag, ''); process.exit(3) },
    slow: () => new Promise((resolve) => setTimeout(resolve, 20)),
    hangs: () => new Promise(() => {}),
    rejects() { Promise.reject(new Error('nobody waits for me')); return new Promise(() => {}) },
    eats() { const all = []; for (;;) all.push(new Array(1e6).fill(all.length)) },
    waits: (request) => new Promise((resolve, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason))),
  }
  const one = async (request) => {
    const { pixels } = request.inputs
    await ways[request.parameters.pre]?.(request)
    const into = request.parameters.pre === 'own' ? Tensor.zeros('float32', request.shapes.pixels) : request.output('x', request.shapes.pixels)
    pixels.data.forEach((value, i) => (into.data[i] = 3 * value))
    return { x: into }
  }
  export default { execute: (requests) => Promise.all(requests.map((request) => one(request).catch((error) => error))) }`

/** Adds one, in the same ways. */
export const plusOneCode = `
  const ways = {
    fails() { throw new Error('no label') },
    hangs: () => new Promise(() => {}),
    waits: (request) => new Promise((resolve, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason))),
  }
  const one = async (request) => {
    await ways[request.parameters.post]?.(request)
    const z = request.output('z', request.shapes.y)
    request.inputs.y.data.forEach((value, i) => (z.data[i] = value + 1))
    return { z }
  }
  export default { execute: (requests) => Promise.all(requests.map((request) => one(request).catch((error) => error))) }`

export const labelEnsemble: EnsembleText = {
  inputs: ['PIXELS UINT8 [3]'],
  outputs: ['LABEL FP32 [3]'],
  steps: ['triple(pixels=PIXELS -> x=tripled)', 'engine(x=tripled -> y=relued)', 'plus_one(y=relued -> z=LABEL)'],
  maxBatch: 8,
}

/** pixels → triple (a module) → engine → plus_one (a module) → label: `relu(2 · 3p + 1) + 1`. */
export function labelFiles(runtime: Runtime, { count = 1, engine = '', more = '' } = {}): Files {
  const instances = `instance_group { count: ${count} } ${more}`
  return {
    ...engineFiles(runtime, 'engine', engine),
    ...moduleFiles('triple', tripleCode, ['pixels UINT8 [3]'], ['x FP32 [3]'], instances),
    ...moduleFiles('plus_one', plusOneCode, ['y FP32 [3]'], ['z FP32 [3]']),
    ...ensemble('label', labelEnsemble),
  }
}

export const labelOf = (pixels: readonly number[]): number[] => pixels.map((p) => Math.max(0, 6 * p + 1) + 1)

export interface World {
  readonly models: Models
  readonly events: ModelEvent[]
  readonly folder: string
  /** Of an ensemble that is in service. */
  ensemble(name?: string): EnsembleModel
  module(name: string): NodeModel
  engine(name?: string): EngineModel
}

/** Models that are served, closed with the test. */
export async function worldOf(
  t: Teardown,
  runtime: Runtime,
  files: Files,
  more: Partial<ModelsSettings> = {},
): Promise<World> {
  const events: ModelEvent[] = []
  const folder = repository(t, files)
  const engine =
    runtime.backend === 'cpu' ? ({ backend: 'cpu' } as const) : { tensorrt: { library: runtime.fake?.path }, gpus: [0] }
  const models = new Models(
    settingsOf(folder, {
      mode: 'explicit',
      loadModels: ['*'],
      engine,
      onEvent: (event) => void events.push(event),
      ...more,
    }),
  )
  t.teardown(() => models.close())
  await models.start()
  const found = <T extends Servable>(name: string, kind: abstract new (...args: never[]) => T): T => {
    const servable = models.snapshot.find(name)
    if (servable instanceof kind) return servable
    throw new Error(`'${name}' is of another kind`)
  }
  return {
    models,
    events,
    folder,
    ensemble: (name = 'label') =>
      found(name, EnsembleModel as unknown as abstract new (...args: never[]) => EnsembleModel),
    module: (name) => found(name, NodeModel as unknown as abstract new (...args: never[]) => NodeModel),
    engine: (name = 'engine') => found(name, EngineModel),
  }
}

export interface Asking extends Partial<Omit<ServableRequest, 'inputs'>> {
  readonly name?: string
  readonly cut?: Cut
}

/** Rows of three bytes each, as a front-end asks: in a slot, entered, and left at the end. */
export async function label(
  { models }: World,
  pixels: readonly number[],
  { name = 'label', cut = new Cut(), ...more }: Asking = {},
) {
  const servable = models.snapshot.find(name)
  const leave = servable.enter()
  const slot = servable.reserve(pixels.length)
  try {
    slot.bytes.set(pixels)
    const input: WireTensor = { ...wire('PIXELS', pixels, [pixels.length / 3, 3], 'UINT8'), bytes: slot.bytes }
    const answers = await servable.infer({ inputs: [input], ...more }, cut)
    return floats(answers[0] as WireTensor)
  } finally {
    slot.release()
    leave()
  }
}

/** Nothing is left once the models are closed: no thread, and nothing live in what runs models. */
export async function nothingLeft(): Promise<Record<string, unknown>> {
  await certain(() => liveWorkers.size === 0)
  return leftovers()
}

export type { Engine }
