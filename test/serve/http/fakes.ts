// Models that need no engine: each gives back what it got, so that what a front-end does to bytes can be seen.
import { create } from '@bufbuild/protobuf'
import type { EngineCounters } from '../../../lib/backend/backend.js'
import type { Cut } from '../../../lib/base/cancellation.js'
import { type ModelConfig, ModelConfigSchema } from '../../../lib/kserve/messages/model_config_pb.js'
import { Fault } from '../../../lib/serve/faults.js'
import type {
  ModelControl,
  Servable,
  ServableRequest,
  ServableTensor,
  Slot,
  Snapshot,
} from '../../../lib/serve/models/servable.js'
import { type Datatype, datatypes, type WireTensor } from '../../../lib/kserve/tensor.js'
import type { IndexEntry, LoadParameters } from '../../../lib/serve/public-types.js'

export interface Port {
  readonly datatype: Datatype
  /** Without the batch. */
  readonly dims: readonly number[]
}

export interface FakeOptions {
  readonly ports: readonly Port[]
  readonly maxBatchSize?: number
  readonly labels?: readonly string[]
  readonly version?: string
  readonly config?: Partial<ModelConfig>
  /** Runs in place of the identity. */
  readonly work?: (inputs: readonly WireTensor[], cut: Cut) => Promise<readonly WireTensor[]>
}

/** INPUT0 … go to OUTPUT0 … as they are. */
export class FakeServable implements Servable {
  readonly name: string
  readonly version: string
  readonly config: ModelConfig
  readonly platform = 'onnxruntime_onnx'
  readonly inputs: ReadonlyMap<string, ServableTensor>
  readonly outputs: ReadonlyMap<string, ServableTensor>
  readonly lastInference = 0
  /** Slots that nobody has given back. */
  slots = 0
  /** Requests that hold this version. */
  entered = 0
  /** What came to infer(). */
  readonly requests: ServableRequest[] = []
  /** Cuts of the requests, as they came. */
  readonly cuts: Cut[] = []
  readonly #work: FakeOptions['work']

  constructor(name: string, { ports, maxBatchSize = 0, labels, version = '1', config, work }: FakeOptions) {
    this.name = name
    this.version = version
    this.#work = work
    const tensors = (what: string): [string, ServableTensor][] =>
      ports.map(({ datatype, dims }, index) => {
        const tensor = { name: `${what}${index}`, datatype, shape: maxBatchSize > 0 ? [-1, ...dims] : dims, labels }
        return [tensor.name, tensor]
      })
    this.inputs = new Map(tensors('INPUT'))
    this.outputs = new Map(tensors('OUTPUT'))
    this.config = create(ModelConfigSchema, { name, maxBatchSize, ...config } as never)
  }

  reserve(bytes: number): Slot {
    this.slots++
    let isHeld = true
    return {
      bytes: new Uint8Array(bytes).fill(0xee),
      release: () => {
        if (isHeld) this.slots--
        isHeld = false
      },
    }
  }

  async infer(request: ServableRequest, cut: Cut): Promise<readonly WireTensor[]> {
    this.requests.push(request)
    this.cuts.push(cut)
    if (this.#work !== undefined) return this.#work(request.inputs, cut)
    const inputs = [...this.inputs.keys()].flatMap((name) => request.inputs.find((input) => input.name === name) ?? [])
    const all = inputs.map((input) => ({
      ...input,
      name: input.name.replace('INPUT', 'OUTPUT'),
      bytes: input.bytes.slice(),
    }))
    return request.outputs === undefined ? all : all.filter(({ name }) => request.outputs?.includes(name))
  }

  counters(): EngineCounters {
    throw new Error('nobody asks for it here')
  }

  enter(): () => void {
    this.entered++
    return () => {
      this.entered--
    }
  }

  async close(): Promise<void> {
    // there is nothing to close
  }
}

/** Waits until it is cut, or told to go on. */
export class Held {
  readonly waiting: (() => void)[] = []

  readonly work = (inputs: readonly WireTensor[], cut: Cut): Promise<readonly WireTensor[]> =>
    new Promise((resolve, reject) => {
      this.waiting.push(() =>
        resolve(
          inputs.map((input) => ({
            ...input,
            name: input.name.replace('INPUT', 'OUTPUT'),
            bytes: input.bytes.slice(),
          })),
        ),
      )
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason, whatever it is
      cut.onCut(() => reject(cut.reason))
    })

  goOn(): void {
    for (const each of this.waiting.splice(0)) each()
  }
}

export class FakeControl implements ModelControl {
  readonly mode = 'explicit'
  readonly servables: readonly FakeServable[]
  ready = true
  readonly loads: { readonly name: string; readonly parameters: LoadParameters | undefined }[] = []
  readonly unloads: { readonly name: string; readonly dependents: boolean }[] = []

  constructor(servables: readonly FakeServable[]) {
    this.servables = servables
  }

  get snapshot(): Snapshot {
    const of = (name: string): FakeServable[] => this.servables.filter((servable) => servable.name === name)
    return {
      all: this.servables,
      versions: (name) => of(name).map(({ version }) => version),
      find: (name, version) => {
        const known = of(name)
        const found = version === undefined ? known.at(-1) : known.find((one) => one.version === version)
        if (found !== undefined) return found
        const which = known.length > 0 && version !== undefined ? `'${name}' version ${version}` : `'${name}'`
        throw new Fault('NOT_FOUND', `Request for unknown model: ${which} is not found`)
      },
    }
  }

  isReady(): boolean {
    return this.ready
  }

  index(onlyReady: boolean): readonly IndexEntry[] {
    const loaded = this.servables.map(({ name, version }) => ({ name, version, state: 'READY' as const, reason: '' }))
    return onlyReady ? loaded : [...loaded, { name: 'later' }]
  }

  async load(name: string, parameters?: LoadParameters): Promise<void> {
    if (name === 'nothing')
      throw new Fault('NOT_FOUND', "failed to load 'nothing', failed to poll from model repository")
    this.loads.push({ name, parameters })
  }

  async unload(name: string, dependents: boolean): Promise<void> {
    this.unloads.push({ name, dependents })
  }
}

/**
 * One for each data type, of one dimension of any size; and those that the tests of shapes, classes and waiting need.
 */
export function fakeModels(): { readonly control: FakeControl; readonly held: Held } {
  const held = new Held()
  const one = (datatype: Datatype, ...dims: number[]): readonly Port[] => [{ datatype, dims }]
  return {
    held,
    control: new FakeControl([
      ...datatypes.map((datatype) => new FakeServable(datatype.toLowerCase(), { ports: one(datatype, -1) })),
      new FakeServable('batched', { ports: one('FP32', 4), maxBatchSize: 4 }),
      new FakeServable('two', { ports: [...one('FP32', 3), ...one('INT32', 3)], maxBatchSize: 8 }),
      new FakeServable('matrix', { ports: one('FP32', -1, -1) }),
      new FakeServable('fixed', { ports: one('FP32', 2, 2) }),
      new FakeServable('classes', {
        ports: one('FP32', 4),
        maxBatchSize: 4,
        labels: ['apple', 'pickle', 'banana', 'cherry'],
      }),
      new FakeServable('flags', { ports: one('BOOL', 4), maxBatchSize: 4 }),
      new FakeServable('small', { ports: one('INT8', 4), labels: ['one', 'two'] }),
      new FakeServable('versions', { ports: one('FP32', -1), version: '1' }),
      new FakeServable('versions', { ports: one('FP32', -1), version: '2' }),
      new FakeServable('versions', { ports: one('FP32', -1), version: '10' }),
      new FakeServable('held', { ports: one('FP32', -1), work: held.work }),
    ]),
  }
}
