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
  return steps.map((step) => (isEngineStep(step) ? engineRunner(inputsOf(step), step, devices) : hostRunner(step)))
}

/** Inputs as a configuration has them, by name. */
export type StepInputs = ReadonlyMap<string, { readonly dims: readonly number[]; readonly hasRows: boolean }>

function inputsOf({ config }: LoadedVersion): StepInputs {
  const ofInput = ({ name, dims, isShapeTensor }: (typeof config.input)[number]) =>
    [name, { dims: dims.map(Number), hasRows: config.maxBatchSize > 0 && !isShapeTensor }] as const
  return new Map(config.input.map(ofInput))
}

/** A model that knows nothing of devices. */
function hostRunner(model: LoadedVersion): StepRunner<PlacedValue> {
  const known = inputsOf(model)
  return {
    input: (name) => known.get(name),
    run: async (request, cut) => {
      const inputs = await Promise.all(request.inputs.map(({ name, value, shape }) => wireOf(value, name, shape)))
      cut.throwIfHappened()
      return valuesOf(await model.infer({ ...factsOf(request), inputs }, cut))
    },
  }
}

/** @param devices of each step of the ensemble; empty of one that is no engine */
export function engineRunner(
  known: StepInputs,
  model: EngineStep,
  devices: readonly (readonly number[])[],
): StepRunner<PlacedValue> {
  /** Whether an engine takes it that is on a device of this model. */
  const stays = ({ takers, isKept }: PlannedOutput): boolean =>
    isKept || takers.some((step) => devices[step]?.some((device) => model.devices.includes(device)))
  const infer = async (request: Request, inputs: readonly PlacedTensor[], cut: Cut): Promise<Values> => {
    const keep = new Set(request.outputs.filter(stays).map(({ name }) => name))
    return valuesOf(await model.inferPlaced({ ...factsOf(request), inputs, keep }, cut))
  }
  return {
    input: (name) => known.get(name),
    run: async (request, cut) => {
      const { inputs } = request
      const here = inputs.find(({ value }) => value.device !== undefined && model.devices.includes(value.device))
      const isElsewhere = ({ value }: Input): boolean =>
        value.device !== undefined && value.device !== here?.value.device
      if (!inputs.some(isElsewhere)) return infer(request, inputs.map(placedOf), cut)
      // what is on another device comes by the host; what is on this one is held meanwhile
      const moving = inputs.filter(isElsewhere).map(({ name, value, shape }) => wireOf(value, name, shape))
      const held = inputs.filter((input) => !isElsewhere(input)).map(heldOf)
      try {
        const moved = await Promise.all(moving)
        cut.throwIfHappened()
        return await infer(request, [...held, ...moved], cut)
      } finally {
        for (const tensor of held) if (isOnDevice(tensor)) tensor.tensor.dispose()
      }
    },
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
