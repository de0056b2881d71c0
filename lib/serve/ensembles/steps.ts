// The models of an ensemble's steps in the server's own thread: engines take tensors where they are, all others on the
// host.
import type { Cut } from '../../base/cancellation.js'
import { type EngineStep, isEngineStep, isOnDevice, type PlacedTensor, reshaped } from '../models/engine-steps.js'
import type { LoadedVersion, ServableRequest } from '../models/servable.js'
import type { PlannedOutput } from './plan.js'
import type { StepInput, StepRequest, StepRunner } from './run.js'
import { PlacedValue, wireOf } from './values.js'

type Input = StepInput<PlacedValue>
type Request = StepRequest<PlacedValue>
type Values = ReadonlyMap<string, PlacedValue>

/** By the place of the step. */
export function runnersOf(steps: readonly LoadedVersion[]): readonly StepRunner<PlacedValue>[] {
  const devices = steps.map((step) => (isEngineStep(step) ? step.devices : []))
  return steps.map((step) =>
    isEngineStep(step) ? new EngineRunner(inputsOf(step), step, devices) : new HostRunner(step),
  )
}

/** Inputs as a configuration has them, by name. */
export type StepInputs = ReadonlyMap<string, { readonly dims: readonly number[]; readonly hasRows: boolean }>

function inputsOf({ config }: LoadedVersion): StepInputs {
  const ofInput = ({ name, dims, isShapeTensor }: (typeof config.input)[number]) =>
    [name, { dims: dims.map(Number), hasRows: config.maxBatchSize > 0 && !isShapeTensor }] as const
  return new Map(config.input.map(ofInput))
}

export abstract class Runner implements StepRunner<PlacedValue> {
  readonly #inputs: StepInputs

  constructor(inputs: StepInputs) {
    this.#inputs = inputs
  }

  input(name: string) {
    return this.#inputs.get(name)
  }

  abstract run(request: Request, cut: Cut): Promise<Values>
}

/** A model that knows nothing of devices. */
class HostRunner extends Runner {
  readonly #model: LoadedVersion

  constructor(model: LoadedVersion) {
    super(inputsOf(model))
    this.#model = model
  }

  async run(request: Request, cut: Cut): Promise<Values> {
    const inputs = await Promise.all(request.inputs.map(({ name, value, shape }) => wireOf(value, name, shape)))
    cut.throwIfHappened()
    return valuesOf(await this.#model.infer({ ...factsOf(request), inputs }, cut))
  }
}

export class EngineRunner extends Runner {
  readonly #model: EngineStep
  /** Of each step of the ensemble; empty of one that is no engine. */
  readonly #devices: readonly (readonly number[])[]

  constructor(inputs: StepInputs, model: EngineStep, devices: readonly (readonly number[])[]) {
    super(inputs)
    this.#model = model
    this.#devices = devices
  }

  async run(request: Request, cut: Cut): Promise<Values> {
    const { inputs } = request
    const device = inputs.find(({ value }) => value.device !== undefined && this.#model.devices.includes(value.device))
      ?.value.device
    const isElsewhere = ({ value }: Input): boolean => value.device !== undefined && value.device !== device
    if (!inputs.some(isElsewhere)) return this.#infer(request, inputs.map(placedOf), cut)
    return this.#inferMoved(request, isElsewhere, cut)
  }

  /** What is on another device comes by the host; what is on this one is held meanwhile. */
  async #inferMoved(request: Request, isElsewhere: (input: Input) => boolean, cut: Cut): Promise<Values> {
    const moving = request.inputs.filter(isElsewhere).map(({ name, value, shape }) => wireOf(value, name, shape))
    const held = request.inputs.filter((input) => !isElsewhere(input)).map(heldOf)
    try {
      const moved = await Promise.all(moving)
      cut.throwIfHappened()
      return await this.#infer(request, [...held, ...moved], cut)
    } finally {
      for (const tensor of held) if (isOnDevice(tensor)) tensor.tensor.dispose()
    }
  }

  async #infer(request: Request, inputs: readonly PlacedTensor[], cut: Cut): Promise<Values> {
    const keep = new Set(request.outputs.filter((output) => this.#stays(output)).map(({ name }) => name))
    return valuesOf(await this.#model.inferPlaced({ ...factsOf(request), inputs, keep }, cut))
  }

  /** Whether an engine takes it that is on a device of this model. */
  #stays({ takers, isKept }: PlannedOutput): boolean {
    return isKept || takers.some((step) => this.#devices[step]?.some((device) => this.#model.devices.includes(device)))
  }
}

function factsOf({ id, priority, timeoutUs, parameters, outputs }: Request): Omit<ServableRequest, 'inputs'> {
  return { id, priority, timeoutUs, parameters, outputs: outputs.map(({ name }) => name) }
}

function placedOf({ name, value, shape }: Input): PlacedTensor {
  return { ...value.placed, name, shape }
}

function heldOf({ name, value: { placed }, shape }: Input): PlacedTensor {
  return isOnDevice(placed)
    ? { ...placed, name, shape, tensor: reshaped(placed.tensor, placed.tensor.shape) }
    : { ...placed, name, shape }
}

function valuesOf(tensors: readonly PlacedTensor[]): Values {
  return new Map(tensors.map((tensor) => [tensor.name, new PlacedValue(tensor)]))
}
