import { checkedArray, checkedChoice, isWhole } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import type { Engine } from '../engine.js'
import { TensorRTError } from '../errors.js'

/**
 * The name of the output that a task reads.
 * @param tensor its name, or its number in the model's order; nothing where the model is to have one only
 * @throws TensorRTError ERR_TRT_SHAPE where there are several and none is named; ERR_TRT_INVALID_ARGUMENT
 */
export function soleOutput(engine: Engine, tensor: unknown): string {
  if (tensor !== undefined) return outputNamed(engine, tensor, 'output.tensor')
  const { outputNames } = engine
  const [first] = outputNames
  if (first !== undefined && outputNames.length === 1) return first
  const message = `Expected a model with one output but found ${listed(engine) || 'none'}: output: { tensor } says which is meant`
  throw new TensorRTError('ERR_TRT_SHAPE', message, { details: { found: outputNames } })
}

/**
 * The names of the outputs that are meant, in that order; nothing for all. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function outputsNamed(engine: Engine, tensors: unknown): readonly string[] {
  if (tensors === undefined) return engine.outputNames
  return checkedArray(tensors, 'output.tensors').map((tensor, index) =>
    outputNamed(engine, tensor, `output.tensors[${index}]`),
  )
}

function outputNamed(engine: Engine, tensor: unknown, name: string): string {
  const { outputNames } = engine
  if (isWhole(tensor, 0, outputNames.length - 1)) return outputNames[tensor]!
  return checkedChoice(
    tensor,
    name,
    outputNames,
    `the name or the number of one of the model's outputs (${listed(engine)})`,
  )
}

function listed({ outputNames, outputs }: Engine): string {
  return outputNames.map((name) => `${JSON.stringify(name)} ${shapeText(outputs[name]!.shape)}`).join(', ')
}
