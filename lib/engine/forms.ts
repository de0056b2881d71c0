import type { Results, RunOptions } from '../backend/backend.js'
import { TensorRTError } from '../errors.js'
import type { AnyTensor } from '../device-tensor.js'

/** Tensors by name, wherever they are. */
export type AnyTensorRecord = Record<string, AnyTensor>

/** What results look like: for a record of inputs a record, for a bare tensor a bare tensor. */
export class Forms {
  /** What a run without options is told: the outputs that were declared, where these are not all. */
  readonly defaults: RunOptions | undefined
  /** The outputs that a run gives without the option of that name. */
  readonly wanted: readonly string[] | undefined
  readonly #names: readonly string[]
  readonly #input: string
  /** By position of the output. */
  readonly #bare: readonly ((results: Results) => AnyTensor)[]
  /** Of a run without options, where it has one output. */
  readonly #only: ((results: Results) => AnyTensor) | undefined

  /**
   * @param names of the outputs, in the model's order
   * @param total how many the model has, those that no Tensor can hold too
   * @param declared those that were declared
   */
  constructor(names: readonly string[], total: number, inputs: readonly string[], declared?: readonly string[]) {
    this.#names = names
    this.#input = inputs[0] ?? ''
    const wanted = declared ?? names
    this.wanted = wanted.length < total ? declared : undefined
    this.defaults = this.wanted && { outputs: names.map((name) => wanted.includes(name)) }
    this.#bare = names.map((_, i) => (results) => results[i] as AnyTensor)
    this.#only = wanted.length === 1 ? this.#bare[names.indexOf(wanted[0] ?? '')] : undefined
  }

  record = (results: Results): AnyTensorRecord => {
    const outputs = Object.create(null) as AnyTensorRecord
    this.#names.forEach((name, i) => {
      const result = results[i]
      if (result !== undefined) outputs[name] = result
    })
    return outputs
  }

  /** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT when there is not one output that is meant */
  bare(outputs: readonly string[] | undefined): (results: Results) => AnyTensor {
    const form =
      outputs === undefined
        ? this.#only
        : outputs.length === 1
          ? this.#bare[this.#names.indexOf(outputs[0] ?? '')]
          : undefined
    if (form !== undefined) return form
    const several = outputs ?? this.wanted ?? this.#names
    const list = several.map((name) => JSON.stringify(name)).join(', ')
    const key = JSON.stringify(this.#input)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `A bare Tensor gives one output, and here are ${several.length === 0 ? 'none' : list}: infer({ ${key}: tensor }) gives a record` +
        (several.length === 0 ? '' : ` of them, infer(tensor, { outputs: [${JSON.stringify(several[0])}] }) one`),
      { details: { outputs: several } },
    )
  }
}
