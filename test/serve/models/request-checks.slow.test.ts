// Whether a request suits a model. The cases are those of Triton's suites that they are named after; the texts are
// Triton's.
import t, { type Test } from 'tap'
import {
  checkRequest,
  clientShape,
  modelShape,
  type RequestRules,
  type TensorRule,
} from '../../../lib/serve/models/request-checks.js'
import type { ServableRequest } from '../../../lib/serve/models/servable.js'
import { type Datatype, elementBytes, type WireTensor } from '../../../lib/kserve/tensor.js'

const rule = (name: string, dims: readonly number[], more: Partial<TensorRule> = {}): TensorRule => ({
  name,
  datatype: 'FP32',
  dims,
  reshape: undefined,
  isShapeTensor: false,
  ...more,
})

const rules = (maxBatch: number, inputs: readonly TensorRule[], outputs = [rule('Y', [-1])]): RequestRules => ({
  model: 'M',
  maxBatch,
  inputs: new Map(inputs.map((each) => [each.name, each])),
  outputs: new Map(outputs.map((each) => [each.name, each])),
})

const tensor = (
  name: string,
  shape: readonly number[],
  datatype: Exclude<Datatype, 'BYTES'> = 'FP32',
  bytes?: number,
): WireTensor => ({
  name,
  datatype,
  shape,
  bytes: new Uint8Array(bytes ?? shape.reduce((count, size) => count * size, elementBytes[datatype])),
})

const refused = (t: Test, of: RequestRules, request: ServableRequest, message: string): void => {
  t.throws(() => checkRequest(of, request), { kind: 'INVALID_ARG', message }, message)
}

const two = rules(4, [rule('A', [2, -1]), rule('B', [3])])
const a = tensor('A', [2, 2, 5])
const b = tensor('B', [2, 3])
const who = '[request id: <id_unknown>] '

await t.test('what suits it, in the order of the config', (t) => {
  const { rows, inputs } = checkRequest(two, { inputs: [b, a], outputs: ['Y'] })
  t.equal(rows, 2)
  t.same(inputs.map(({ tensor: { name } }) => name), ['A', 'B']) // prettier-ignore
  t.equal(checkRequest(rules(0, [rule('A', [])]), { inputs: [tensor('A', [])] }).rows, 1, 'L0_scalar_io: a scalar')
  t.equal(
    checkRequest(rules(0, [rule('A', [-1])]), { inputs: [tensor('A', [0])] }).rows,
    1,
    'L0_infer_zero: no elements',
  )
  t.end()
})

await t.test('L0_input_validation: names and numbers of inputs', (t) => {
  const missing = (got: string, absent: string): string =>
    `. Got input(s) ${got}, but missing required input(s) ${absent}. Please provide all required input(s).`
  refused(t, two, { inputs: [] }, `${who}expected 2 inputs but got 0 inputs for model 'M'${missing('[]', "['A','B']")}`)
  refused(
    t,
    two,
    { inputs: [a], id: 'seven' },
    `[request id: seven] expected 2 inputs but got 1 inputs for model 'M'${missing("['A']", "['B']")}`,
  )
  refused(
    t,
    two,
    { inputs: [a, b, tensor('C', [1])] },
    `${who}expected 2 inputs but got 3 inputs for model 'M'${missing("['A','B','C']", '[]')}`,
  )
  refused(t, two, { inputs: [a, tensor('C', [2, 3])] }, "unexpected inference input 'C' for model 'M'")
  refused(t, two, { inputs: [a, a] }, `${who}input 'A' already exists in request`)
  refused(t, two, { inputs: [a, b], outputs: ['Z'] }, "unexpected inference output 'Z' for model 'M'")
  refused(t, two, { inputs: [a, b], outputs: ['Y', 'Y'] }, `${who}output 'Y' already exists in request`)
  t.end()
})

await t.test('L0_client_nobatch: the rows of a batch', (t) => {
  refused(
    t,
    two,
    { inputs: [tensor('A', []), b] },
    `${who}input 'A' has no shape but model requires batch dimension for 'M'`,
  )
  refused(
    t,
    two,
    { inputs: [a, tensor('B', [1, 3])] },
    `${who}input 'B' batch size does not match other inputs for 'M'`,
  )
  refused(
    t,
    two,
    { inputs: [tensor('A', [5, 2, 1]), tensor('B', [5, 3])] },
    `${who}inference request batch-size must be <= 4 for 'M'`,
  )
  refused(
    t,
    two,
    { inputs: [tensor('A', [0, 2, 1]), tensor('B', [0, 3])] },
    `${who}inference request batch-size must be >= 1 for 'M'`,
  )
  t.end()
})

await t.test('L0_input_validation: data types, shapes and bytes', (t) => {
  const note =
    ' NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. ' +
    'If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. ' +
    'See the model configuration docs for more info on max_batch_size.'
  refused(
    t,
    two,
    { inputs: [tensor('A', [2, 2, 5], 'INT32'), b] },
    `${who}inference input 'A' data-type is 'INT32', but model 'M' expects 'FP32'`,
  )
  for (const shape of [
    [2, 3, 5],
    [2, 2],
    [2, 2, 5, 1],
    [2, 2, -1],
  ]) {
    // prettier-ignore
    const text = `${who}unexpected shape for input 'A' for model 'M'. Expected [-1,2,-1], got [${shape.join(',')}].${note}`
    refused(t, two, { inputs: [tensor('A', shape, 'FP32', 16), b] }, text)
  }
  const single = rules(0, [rule('A', [2])])
  refused(
    t,
    single,
    { inputs: [tensor('A', [1, 2])] },
    `${who}unexpected shape for input 'A' for model 'M'. Expected [2], got [1,2]. `,
  )
  refused(
    t,
    single,
    { inputs: [tensor('A', [2], 'FP32', 12)] },
    `${who}input byte size mismatch for input 'A' for model 'M'. Expected 8, got 12`,
  )
  t.end()
})

await t.test('L0_infer_reshape: variable sizes keep their order, rows stay', (t) => {
  const reshaped = rule('A', [-1, 1, -1], { reshape: [-1, -1] })
  const batched = rules(8, [reshaped])
  t.same(modelShape(batched, reshaped, [2, 5, 1, 7]), [2, 5, 7])
  t.same(clientShape(batched, reshaped, [2, 5, 7]), [2, 5, 1, 7])
  const toNothing = rule('A', [1], { reshape: [] })
  t.same(modelShape(rules(8, [toNothing]), toNothing, [3, 1]), [3])
  t.same(clientShape(rules(8, [toNothing]), toNothing, [3]), [3, 1])
  t.same(modelShape(rules(0, [toNothing]), toNothing, [1]), [])
  t.same(clientShape(rules(0, [toNothing]), toNothing, []), [1])
  const plain = rule('A', [4])
  t.same(modelShape(rules(8, [plain]), plain, [2, 4]), [2, 4])
  t.end()
})

await t.test('L0_trt_shape_tensors: a shape tensor has no rows', (t) => {
  const of = rules(8, [rule('A', [2]), rule('S', [3], { datatype: 'INT32', isShapeTensor: true })])
  t.equal(checkRequest(of, { inputs: [tensor('S', [3], 'INT32'), tensor('A', [5, 2])] }).rows, 5)
  t.throws(() => checkRequest(of, { inputs: [tensor('S', [5, 3], 'INT32'), tensor('A', [5, 2])] }), {
    code: 'ERR_TRT_SERVER',
  })
  t.end()
})
