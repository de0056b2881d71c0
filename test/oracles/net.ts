// A hand for small networks with seeded weights.
import {
  type Attributes,
  type Dim,
  elementTypeNumber,
  float,
  GraphBuilder,
  type ModelProto,
  type Value,
} from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/index.js'
import { Random } from '../support/random.js'
import { int, ints, randomTensor, scalar } from '../support/values.js'

/** A model, and what it is run on. */
export interface Case {
  readonly name: string
  readonly model: ModelProto
  readonly inputs: Readonly<Record<string, Tensor>>
  /** The least cosine in half precision, where ordinary numbers do not say it: 0.999 in float16, 0.98 in bfloat16. */
  readonly least?: { readonly fp16?: number; readonly bf16?: number }
  /** Outputs are whole numbers, which have to be the same ones. */
  readonly exact?: boolean
  /** Whether conversion is told the ranges of its values, as far as float32 goes in it. */
  readonly measured?: boolean
  /**
   * What half precision is held against, instead of what onnxruntime computes in float32: `evaluator`, the reference
   * evaluator's own float32, which passes over lengths of sequences;
   * `nothing`, where it cannot compute the model.
   */
  readonly against?: 'evaluator' | 'nothing'
  /** Whether it has nothing that could be quantized. */
  readonly unquantized?: boolean
}

export interface Convolution {
  readonly kernel?: number
  readonly stride?: number
  readonly group?: number
  readonly dilation?: number
}

/** A graph with its inputs. */
export class Net {
  readonly g: GraphBuilder
  readonly random: Random
  readonly inputs: Record<string, Tensor> = {}
  #weights = 0

  constructor(name: string, opset = 17, irVersion?: number) {
    this.g = new GraphBuilder({ name, opset, ...(irVersion !== undefined && { irVersion }) })
    this.random = new Random(name.length * 31 + opset)
  }

  /** An input of numbers by the normal distribution, or as they are given. */
  input(name: string, shape: readonly number[], given?: Tensor): Value {
    const tensor =
      given ??
      Tensor.from(
        Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => this.random.normal()),
        shape,
      )
    this.inputs[name] = tensor
    return this.g.input(name, tensor.dtype, shape)
  }

  node(operator: string, inputs: readonly Value[], attributes: Attributes = {}): Value {
    return this.g.node(operator, inputs, attributes)
  }

  output(value: Value, shape: readonly Dim[], dtype: 'float32' | 'int64' | 'bool' = 'float32'): void {
    this.g.output(value, dtype, shape)
  }

  weight(shape: readonly number[], scale: number): Value {
    return this.constant(randomTensor(shape, this.random, scale))
  }

  constant(tensor: Tensor): Value {
    return this.g.constant(`w${this.#weights++}`, tensor)
  }

  number(value: number): Value {
    return this.constant(scalar(value))
  }

  whole(...values: number[]): Value {
    return this.constant(values.length === 1 ? int(values[0]!) : ints(...values))
  }

  list(...values: number[]): Value {
    return this.constant(ints(...values))
  }

  cast(value: Value, to: 'float32' | 'int64' | 'bool' | 'int32'): Value {
    return this.node('Cast', [value], { to: elementTypeNumber(to) })
  }

  conv(
    x: Value,
    inputs: number,
    outputs: number,
    { kernel = 3, stride = 1, group = 1, dilation = 1 }: Convolution = {},
  ): Value {
    const w = this.weight(
      [outputs, inputs / group, kernel, kernel],
      Math.sqrt((3 * 2 * group) / (inputs * kernel * kernel)),
    )
    const pad = dilation * (kernel >> 1)
    const attributes = {
      kernel_shape: [kernel, kernel],
      strides: [stride, stride],
      dilations: [dilation, dilation],
      pads: [pad, pad, pad, pad],
      group,
    }
    return this.node('Conv', [x, w, this.weight([outputs], 0.1)], attributes)
  }

  norm(x: Value, channels: number): Value {
    const near = (value: number, by: number): Value =>
      this.constant(Tensor.from(Float32Array.from({ length: channels }, () => value + this.random.around() * by)))
    return this.node('BatchNormalization', [x, near(1, 0.2), near(0, 0.2), near(0, 0.2), near(1, 0.2)], {
      epsilon: float(1e-5),
    })
  }

  layerNorm(x: Value, features: number, epsilon = 1e-5): Value {
    return this.node('LayerNormalization', [x, this.weight([features], 1), this.weight([features], 0.1)], {
      axis: -1,
      epsilon: float(epsilon),
    })
  }

  linear(x: Value, inputs: number, outputs: number): Value {
    return this.node('Add', [
      this.node('MatMul', [x, this.weight([inputs, outputs], Math.sqrt(3 / inputs))]),
      this.weight([outputs], 0.1),
    ])
  }

  reshape(x: Value, ...shape: number[]): Value {
    return this.node('Reshape', [x, this.list(...shape)])
  }

  gelu(x: Value): Value {
    const erf = this.node('Erf', [this.node('Div', [x, this.number(Math.SQRT2)])])
    return this.node('Mul', [this.node('Mul', [x, this.node('Add', [erf, this.number(1)])]), this.number(0.5)])
  }

  /** Attention of [1, length, features]; `mask` is added to the scores. */
  attention(
    x: Value,
    length: number,
    features: number,
    heads: number,
    { mask, turned = (value: Value) => value }: { mask?: Value; turned?: (value: Value) => Value } = {},
  ): Value {
    const split = (perm: number[]): Value =>
      this.node('Transpose', [this.reshape(this.linear(x, features, features), 1, length, heads, features / heads)], {
        perm,
      })
    const query = turned(split([0, 2, 1, 3]))
    const key = this.node('Transpose', [turned(split([0, 2, 1, 3]))], { perm: [0, 1, 3, 2] })
    const scores = this.node('Mul', [this.node('MatMul', [query, key]), this.number(1 / Math.sqrt(features / heads))])
    const weights = this.node('Softmax', [mask === undefined ? scores : this.node('Add', [scores, mask])], { axis: -1 })
    const mixed = this.node('Transpose', [this.node('MatMul', [weights, split([0, 2, 1, 3])])], { perm: [0, 2, 1, 3] })
    return this.linear(this.reshape(mixed, 1, length, features), features, features)
  }

  /** Attention and two layers, each added to what it reads. */
  block(
    x: Value,
    length: number,
    features: number,
    heads: number,
    options: Parameters<Net['attention']>[4] = {},
  ): Value {
    const attended = this.node('Add', [
      x,
      this.attention(this.layerNorm(x, features), length, features, heads, options),
    ])
    const inner = this.gelu(this.linear(this.layerNorm(attended, features), features, 2 * features))
    return this.node('Add', [attended, this.linear(inner, 2 * features, features)])
  }

  case(more: Omit<Case, 'name' | 'model' | 'inputs'> = {}): Case {
    const model = this.g.toModel()
    return { name: model.graph?.name ?? '', model, inputs: this.inputs, ...more }
  }
}
