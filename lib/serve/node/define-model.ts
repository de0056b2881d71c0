import { expected } from '../../errors.js'
import type { JavaScriptModel } from './types.js'

/**
 * The default export of a model in JavaScript: `model.js`, `model.mjs`, or `model.ts` where Node strips types, in the
 * folder of a version, with `backend: "node"` in config.pbtxt. It gives its argument, and the types of what is in it.
 * @example
 * ```ts
 * import type { Tensor } from 'node-tensorrt'
 * import { defineModel } from 'node-tensorrt/serve'
 *
 * export default defineModel({
 *   execute: (requests) =>
 *     requests.map((request) => {
 *       const numbers = (request.inputs['numbers'] as Tensor<'float32'>).data
 *       const sum = request.output('sum', [1]).as('float32')
 *       sum.data[0] = numbers.reduce((all, one) => all + one, 0)
 *       return { sum }
 *     }),
 * })
 * ```
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a model without the function `execute`
 */
export function defineModel(model: JavaScriptModel): JavaScriptModel {
  if (typeof (model as Partial<JavaScriptModel> | undefined)?.execute === 'function') return model
  throw expected('an object with the function execute', 'model', model)
}
