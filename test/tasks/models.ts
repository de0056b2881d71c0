import { type Dim, GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { type DType, Tensor } from '../../lib/index.js'

/** A tensor of zeros, or of another value, in which some elements are set by their indices. */
export function filled(
  shape: readonly number[],
  values: readonly (readonly [index: readonly number[], value: number])[],
  rest = 0,
): Tensor<'float32'> {
  const tensor = new Tensor(
    'float32',
    new Float32Array(shape.reduce((product, side) => product * side, 1)).fill(rest),
    shape,
  )
  for (const [index, value] of values) tensor.data[index.reduce((at, i, axis) => at * shape[axis]! + i, 0)] = value
  return tensor
}

export interface AnswerOptions {
  readonly input?: readonly Dim[]
  readonly dtype?: 'float32' | 'float16' | 'uint8' | 'int32'
  /** Names of the outputs. */
  readonly names?: readonly string[]
  /** The data type of the outputs. */
  readonly as?: DType
  /** The first dimension of outputs as it is declared; default: the input's. */
  readonly rows?: Dim
}

/** A model that says the same of every picture: `answers`, each [1, …], once for each picture. */
export function answering(answers: readonly Tensor<'float32'>[], options: AnswerOptions = {}): Uint8Array {
  const {
    input = [1, 3, 64, 64],
    dtype = 'float32',
    names = answers.map((_, i) => `out${i}`),
    as = 'float32',
    rows = input[0]!,
  } = options
  const g = new GraphBuilder({ name: 'answering' })
  const x = g.input('images', dtype, input)
  const numbers = dtype === 'float32' ? x : g.node('Cast', [x], { to: 1 })
  const nothing = g.node('Mul', [
    g.node('ReduceMean', [numbers], { axes: [1, 2, 3] }),
    g.constant('zero', filled([1], [])),
  ])
  answers.forEach((answer, i) => {
    const shape = new Tensor('int64', BigInt64Array.from([-1n, ...answer.shape.slice(1).map(() => 1n)]), [
      answer.shape.length,
    ])
    const each = g.node('Reshape', [nothing, g.constant(`shape${i}`, shape)])
    const sum = [each, g.constant(`answer${i}`, answer)]
    const output = { output: names[i]! }
    const value =
      as === 'float32'
        ? g.node('Add', sum, {}, output)
        : g.node('Cast', [g.node('Add', sum)], { to: elementTypes[as] ?? 1 }, output)
    g.output(value, as, [rows, ...answer.shape.slice(1)])
  })
  return writeModel(g.toModel())
}

const elementTypes: Readonly<Partial<Record<DType, number>>> = { float16: 10, uint8: 2, int32: 6, int64: 7 }

/**
 * A classifier whose three classes are the greatest red, green and blue of what it is given, however that was prepared.
 */
export function colours(input: readonly Dim[] = [1, 3, 8, 8], layout: 'NCHW' | 'NHWC' = 'NCHW'): Uint8Array {
  const g = new GraphBuilder({ name: 'colours' })
  const axes = layout === 'NCHW' ? [2, 3] : [1, 2]
  g.output(
    g.node('ReduceMax', [g.input('images', 'float32', input)], { axes, keepdims: 0 }, { output: 'means' }),
    'float32',
    [input[0]!, 3],
  )
  return writeModel(g.toModel())
}
