import type { Results } from '../backend/backend.js'
import type { Tensor } from '../tensor.js'
import type { TensorRecord } from './arguments.js'

/** What results look like: always a record, or for a bare input and one output a bare Tensor. */
export interface Forms {
  readonly record: (results: Results) => TensorRecord
  readonly bare: (results: Results) => Tensor | TensorRecord
}

/** `names` of the outputs, in the model's order. */
export function formsOf(names: readonly string[]): Forms {
  const record = (results: Results): TensorRecord => {
    const outputs = Object.create(null) as TensorRecord
    names.forEach((name, i) => {
      const result = results[i]
      if (result !== undefined) outputs[name] = result
    })
    return outputs
  }
  return { record, bare: names.length === 1 ? (results) => results[0] ?? record(results) : record }
}
