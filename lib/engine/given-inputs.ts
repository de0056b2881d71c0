/** Inputs that a call takes by name, as tensors or as shapes: `warmup` and `benchmark`. */
import type { ModelTensor } from '../backend/backend.js'
import { checkedObject } from '../base/checks.js'
import type { AnyTensor } from '../device-tensor.js'
import { expected, TensorRTError } from '../errors.js'
import { checkedShape, expectedTensor } from '../tensor.js'
import { isTensor } from './arguments.js'

/** What was given: a tensor or a shape for an input, and nothing for the others. */
export interface GivenInputs<T extends AnyTensor = AnyTensor> {
  readonly inputs: ReadonlyMap<string, T>
  readonly shapes: ReadonlyMap<string, readonly number[]>
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedInputs<T extends AnyTensor>(
  inputs: unknown,
  what: string,
  isIt: (value: unknown) => value is T,
): ReadonlyMap<string, T> {
  if (isTensor(inputs)) throw expectedTensor(`a record of ${what}s`, 'inputs', inputs)
  const given = Object.entries(checkedObject(inputs, 'inputs', `a record of ${what}s`))
  return new Map(
    given.map(([name, tensor]: [string, unknown]) => {
      if (!isIt(tensor)) throw expectedTensor(`a ${what}`, `input ${JSON.stringify(name)}`, tensor)
      return [name, tensor]
    }),
  )
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE */
export function checkedShapes(shapes: unknown): ReadonlyMap<string, readonly number[]> {
  const given = Object.entries(checkedObject(shapes, 'shapes', 'a record of shapes'))
  return new Map(
    given.map(([name, shape]: [string, unknown]) => [name, checkedShape(shape, `shapes ${JSON.stringify(name)}`)]),
  )
}

/** @throws TensorRTError ERR_TRT_UNKNOWN_INPUT; ERR_TRT_INVALID_ARGUMENT where an input has both */
export function refuseWrongNames({ inputs, shapes }: GivenInputs, known: readonly ModelTensor[]): void {
  const names = known.map(({ name }) => name)
  for (const name of [...inputs.keys(), ...shapes.keys()]) {
    if (!names.includes(name)) {
      const list = names.map((each) => JSON.stringify(each)).join(', ')
      const message = `The model has no input ${JSON.stringify(name)}: it has ${list === '' ? 'none' : list}`
      throw new TensorRTError('ERR_TRT_UNKNOWN_INPUT', message, { details: { name, known: names } })
    }
    if (inputs.has(name) && shapes.has(name))
      throw expected('either a Tensor or a shape, not both,', `input ${JSON.stringify(name)}`, shapes.get(name))
  }
}
