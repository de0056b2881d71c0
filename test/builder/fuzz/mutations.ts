// What is done to a model: to its bytes, or to what they mean. Each draws from the same random numbers, so a seed gives
// the same mutant.
import { create } from '@bufbuild/protobuf'
import {
  attributeTypes,
  type GraphProto,
  type ModelProto,
  nodesOf,
  tensorsOf,
  type TensorProto,
} from '../../../lib/onnx/index.js'
import {
  AttributeProtoSchema,
  NodeProtoSchema,
  type NodeProto,
  StringStringEntryProtoSchema,
  type ValueInfoProto,
} from '../../../lib/onnx/onnx_pb.js'
import type { Random } from '../../support/random.js'

export interface ByteMutation {
  readonly name: string
  readonly weight: number
  readonly bytes: (bytes: Uint8Array<ArrayBuffer>, random: Random, other: Uint8Array) => Uint8Array
}

export interface GraphMutation {
  readonly name: string
  readonly weight: number
  readonly graph: (model: ModelProto, random: Random) => void
}

const numbers = [
  0n,
  1n,
  -1n,
  2n,
  3n,
  7n,
  255n,
  65536n,
  2n ** 31n - 1n,
  2n ** 31n,
  -(2n ** 31n),
  2n ** 32n,
  2n ** 40n,
  2n ** 62n,
  2n ** 63n - 1n,
  -(2n ** 63n),
]
const reals = [0, -0, 1, -1, 0.5, 1e-45, 3.4e38, -3.4e38, Infinity, -Infinity, NaN]
const operators = [
  'Conv',
  'Relu',
  'Add',
  'MatMul',
  'Gemm',
  'Concat',
  'Reshape',
  'Slice',
  'Gather',
  'Pad',
  'Resize',
  'Split',
  'TopK',
  'Shape',
  'Loop',
  'If',
  'Scan',
  'LSTM',
  'GRU',
  'RNN',
  'QuantizeLinear',
  'DequantizeLinear',
  'NonMaxSuppression',
  'Einsum',
  'ScatterND',
  'ScatterElements',
  'GatherND',
  'GatherElements',
  'OneHot',
  'Range',
  'Constant',
  'ConstantOfShape',
  'Cast',
  'Expand',
  'Tile',
  'Where',
  'Unsqueeze',
  'Squeeze',
  'Transpose',
  'ConvTranspose',
  'MaxPool',
  'AveragePool',
  'GlobalAveragePool',
  'BatchNormalization',
  'InstanceNormalization',
  'LayerNormalization',
  'GroupNormalization',
  'Upsample',
  'DepthToSpace',
  'SpaceToDepth',
  'GridSample',
  'RoiAlign',
  'CumSum',
  'ArgMax',
  'ReduceSum',
  'Softmax',
  'RandomUniform',
  'RandomNormalLike',
  'EyeLike',
  'Trilu',
  'NonZero',
  'Dropout',
  'LRN',
  'Clip',
  'Pow',
  'Mod',
  'STFT',
  'BlackmanWindow',
  'Attention',
  'RMSNormalization',
  'Identity',
  '',
  'No Such\0Op',
]
const attributeNames = [
  'axis',
  'axes',
  'pads',
  'strides',
  'dilations',
  'kernel_shape',
  'group',
  'auto_pad',
  'mode',
  'to',
  'perm',
  'keepdims',
  'value',
  'body',
  'then_branch',
  'hidden_size',
  'direction',
  'blocksize',
  'num_outputs',
  'ceil_mode',
  'equation',
  'split',
]

/** Where weights must not be looked for, and where there are none. */
export const strangeLocations = [
  '../../../../../../etc/passwd',
  '/etc/passwd',
  '/proc/self/environ',
  '/dev/zero',
  '../secret.bin',
  'a/../../secret.bin',
  './../secret.bin',
  'link.bin',
  '',
  '.',
  '..',
  '/',
  'none.bin',
  'weights.bin',
  'weights.bin\0.txt',
  'x'.repeat(5000),
  '\u{1f4a3}',
  'http://example.org/w',
  '*',
  '~/w',
  '%s%n%s%n',
]

const graphOf = (model: ModelProto): GraphProto => {
  if (model.graph === undefined) throw new Error('no graph')
  return model.graph
}
const aNode = (model: ModelProto, random: Random): NodeProto => random.pick([...nodesOf(model)])
const aTensor = (model: ModelProto, random: Random): TensorProto => random.pick([...tensorsOf(model)])
const aPort = (model: ModelProto, random: Random): ValueInfoProto =>
  random.pick([...graphOf(model).input, ...graphOf(model).output])
/** The name of some value of the graph. */
const aValue = (model: ModelProto, random: Random): string => {
  const { node, initializer, input } = graphOf(model)
  return random.pick([
    ...node.flatMap(({ output }) => output),
    ...initializer.map(({ name }) => name),
    ...input.map(({ name }) => name),
  ])
}
const remove = (list: unknown[], random: Random): void => void list.splice(random.below(list.length), 1)

/** Another one of what stands there already, which parsers look at less than at a wrong kind. */
function changeNumbers(list: bigint[], random: Random): void {
  const action = random.below(5)
  if (action === 0) list.push(random.pick(numbers))
  else if (action === 1 && list.length > 0) list.pop()
  else if (action === 2) list.push(...Array.from({ length: random.pick([8, 40, 3000]) }, () => random.pick(numbers)))
  else if (list.length > 0) list[random.below(list.length)] = random.pick(numbers)
}

/** A span within the bytes: from, to. */
function span(bytes: Uint8Array, random: Random, most: number): [number, number] {
  const from = random.below(bytes.length)
  return [from, Math.min(bytes.length, from + 1 + random.below(most))]
}
/** A place in them; the beginning and the end, where the structure is rather than weights, come more often. */
const place = (bytes: Uint8Array, random: Random): number => {
  const near = random.below(Math.min(bytes.length, 2048))
  return random.chance(0.4) ? near : random.chance(0.5) ? bytes.length - 1 - near : random.below(bytes.length)
}
const joined = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))

export const byteMutations: readonly ByteMutation[] = [
  {
    name: 'bits flipped',
    weight: 5,
    bytes: (bytes, random) => {
      for (let i = 1 + random.below(16); i > 0; i--) {
        const at = place(bytes, random)
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
      }
      return bytes
    },
  },
  {
    name: 'bytes set',
    weight: 4,
    bytes: (bytes, random) => {
      for (let i = 1 + random.below(8); i > 0; i--)
        bytes[place(bytes, random)] = random.pick([0, 1, 127, 128, 255, random.below(256)])
      return bytes
    },
  },
  { name: 'truncated', weight: 3, bytes: (bytes, random) => bytes.subarray(0, place(bytes, random)) },
  {
    name: 'a span cut out',
    weight: 2,
    bytes: (bytes, random) => {
      const [from, to] = span(bytes, random, 64)
      return joined(bytes.subarray(0, from), bytes.subarray(to))
    },
  },
  {
    name: 'a span twice',
    weight: 2,
    bytes: (bytes, random) => {
      const [from, to] = span(bytes, random, 4096)
      return joined(bytes.subarray(0, to), bytes.subarray(from))
    },
  },
  {
    name: 'noise put in',
    weight: 2,
    bytes: (bytes, random) => {
      const at = place(bytes, random)
      return joined(bytes.subarray(0, at), random.bytes(1 + random.below(40)), bytes.subarray(at))
    },
  },
  {
    name: 'spliced with another model',
    weight: 3,
    bytes: (bytes, random, other) =>
      joined(bytes.subarray(0, place(bytes, random)), other.subarray(place(other, random))),
  },
  // protobuf merges what comes twice: all lists of both models, in one
  { name: 'merged with another model', weight: 2, bytes: (bytes, _, other) => joined(bytes, other) },
  { name: 'noise alone', weight: 1, bytes: (_, random) => random.bytes(random.below(600)) },
]

export const graphMutations: readonly GraphMutation[] = [
  {
    name: 'another operator',
    weight: 5,
    graph: (model, random) => void (aNode(model, random).opType = random.pick(operators)),
  },
  {
    name: 'another domain',
    weight: 1,
    graph: (model, random) =>
      void (aNode(model, random).domain = random.pick([
        'com.microsoft',
        'ai.onnx.ml',
        'trt.plugins',
        'x'.repeat(300),
        'ai.onnx',
      ])),
  },
  {
    name: 'attribute values',
    weight: 8,
    graph: (model, random) => {
      const attribute = random.pick([...nodesOf(model)].flatMap((node) => node.attribute))
      if (attribute === undefined) return
      attribute.i = random.pick(numbers)
      attribute.f = random.pick(reals)
      attribute.s = new Uint8Array(
        Buffer.from(
          random.pick([
            '',
            'SAME_UPPER',
            'linear',
            'cubic',
            'bidirectional',
            'abc->',
            'ii->i',
            'a'.repeat(4000),
            '\xff\xfe',
          ]),
        ),
      )
      changeNumbers(attribute.ints, random)
      if (random.chance(0.3)) attribute.type = random.below(16)
      if (random.chance(0.2)) attribute.name = random.pick(attributeNames)
    },
  },
  {
    name: 'an attribute more',
    weight: 4,
    graph: (model, random) => {
      const type = random.pick([
        attributeTypes.INT,
        attributeTypes.INTS,
        attributeTypes.FLOAT,
        attributeTypes.STRING,
        attributeTypes.TENSOR,
        attributeTypes.GRAPH,
      ])
      const name = random.pick(attributeNames)
      const ints = Array.from({ length: random.below(9) }, () => random.pick(numbers))
      aNode(model, random).attribute.push(
        create(AttributeProtoSchema, { name, type, i: random.pick(numbers), f: random.pick(reals), ints }),
      )
    },
  },
  {
    name: 'an attribute less',
    weight: 2,
    graph: (model, random) => {
      const nodes = [...nodesOf(model)].filter(({ attribute }) => attribute.length > 0)
      if (nodes.length > 0) remove(random.pick(nodes).attribute, random)
    },
  },
  {
    name: 'dimensions of a stored tensor',
    weight: 5,
    graph: (model, random) => changeNumbers(aTensor(model, random).dims, random),
  },
  {
    name: 'type of a stored tensor',
    weight: 3,
    graph: (model, random) =>
      void (aTensor(model, random).dataType = random.pick([
        0,
        1,
        2,
        3,
        6,
        7,
        8,
        9,
        10,
        11,
        14,
        16,
        17,
        21,
        22,
        23,
        99,
        -1,
        2 ** 31 - 1,
      ])),
  },
  {
    name: 'values of a small tensor',
    weight: 8,
    graph: (model, random) => {
      const small = [...tensorsOf(model)].filter(
        ({ dataType, rawData }) => dataType === 7 && rawData.length >= 8 && rawData.length <= 256,
      )
      if (small.length === 0) return
      const tensor = random.pick(small)
      const values = new BigInt64Array(new Uint8Array(tensor.rawData).buffer.slice(0, tensor.rawData.length & ~7))
      values[random.below(values.length)] = random.pick(numbers)
      tensor.rawData = new Uint8Array(values.buffer)
    },
  },
  {
    name: 'floats of a tensor',
    weight: 2,
    graph: (model, random) => {
      const tensor = aTensor(model, random)
      if (tensor.dataType !== 1 || tensor.rawData.length < 4) return
      const values = new Float32Array(new Uint8Array(tensor.rawData).buffer.slice(0, tensor.rawData.length & ~3))
      values.fill(random.pick(reals), random.below(values.length))
      tensor.rawData = new Uint8Array(values.buffer)
    },
  },
  {
    name: 'length of a stored tensor',
    weight: 3,
    graph: (model, random) => {
      const tensor = aTensor(model, random)
      tensor.rawData = random.chance(0.5)
        ? tensor.rawData.subarray(0, random.below(tensor.rawData.length + 1))
        : joined(tensor.rawData, random.bytes(random.below(64)))
      if (random.chance(0.3)) tensor.floatData = [1, 2, 3]
      if (random.chance(0.3)) tensor.int64Data = [1n, -1n]
    },
  },
  {
    name: 'shape of an input or output',
    weight: 5,
    graph: (model, random) => {
      const type = aPort(model, random).type?.value
      if (type?.case !== 'tensorType') return
      const dims = type.value.shape?.dim ?? []
      if (random.chance(0.3)) type.value.elemType = random.pick([0, 2, 3, 6, 7, 8, 9, 10, 11, 14, 16, 99, -1])
      if (random.chance(0.2)) return void dims.splice(0)
      if (random.chance(0.2)) for (let i = random.pick([9, 40, 2000]); i > 0 && dims[0]; i--) dims.push(dims[0])
      if (dims.length > 0)
        random.pick(dims).value = random.chance(0.2)
          ? { case: 'dimParam', value: 'N' }
          : { case: 'dimValue', value: random.pick(numbers) }
    },
  },
  {
    name: 'a cycle',
    weight: 3,
    graph: (model, random) => {
      const node = random.pick(graphOf(model).node)
      const later = random.chance(0.5) ? node : random.pick(graphOf(model).node)
      if (node.input.length > 0) node.input[random.below(node.input.length)] = later.output[0] ?? ''
    },
  },
  {
    name: 'another input of a node',
    weight: 5,
    graph: (model, random) => {
      const node = aNode(model, random)
      const name = random.chance(0.8)
        ? aValue(model, random)
        : random.pick(['', 'no such value', 'x'.repeat(100_000), '\0'])
      if (node.input.length > 0) node.input[random.below(node.input.length)] = name
    },
  },
  {
    name: 'more or fewer inputs and outputs of a node',
    weight: 4,
    graph: (model, random) => {
      const node = aNode(model, random)
      const list = random.chance(0.7) ? node.input : node.output
      if (random.chance(0.5) && list.length > 0) remove(list, random)
      else for (let i = random.pick([1, 2, 300]); i > 0; i--) list.push(random.chance(0.5) ? '' : aValue(model, random))
    },
  },
  {
    name: 'a name twice',
    weight: 3,
    graph: (model, random) => {
      const { node, initializer, input, output } = graphOf(model)
      const action = random.below(4)
      if (action === 0) node.push(random.pick(node))
      else if (action === 1 && initializer.length > 0) initializer.push(random.pick(initializer))
      else if (action === 2) input.push(...input)
      else output.push(...output)
    },
  },
  {
    name: 'something missing',
    weight: 5,
    graph: (model, random) => {
      const { node, initializer, input, output } = graphOf(model)
      const list = random.pick([node, initializer, initializer, input, output].filter(({ length }) => length > 0))
      remove(list, random)
    },
  },
  {
    name: 'nodes in another order',
    weight: 2,
    graph: (model, random) =>
      void graphOf(model).node.splice(random.below(graphOf(model).node.length), 0, ...graphOf(model).node.splice(-2)),
  },
  {
    name: 'an output of any value',
    weight: 2,
    graph: (model, random) => {
      const [first] = graphOf(model).output
      if (first !== undefined) first.name = aValue(model, random)
    },
  },
  {
    name: 'versions',
    weight: 2,
    graph: (model, random) => {
      const [opset] = model.opsetImport
      if (opset !== undefined && random.chance(0.8)) opset.version = random.pick([...numbers, 1n, 6n, 9n, 13n, 22n])
      else model.irVersion = random.pick(numbers)
      if (random.chance(0.2)) model.opsetImport = []
    },
  },
  {
    name: 'external data',
    weight: 4,
    graph: (model, random) => {
      const tensor = aTensor(model, random)
      const entries = {
        location: random.pick(strangeLocations),
        offset: String(random.pick(numbers)),
        length: String(random.pick(numbers)),
      }
      if (random.chance(0.8)) tensor.rawData = new Uint8Array()
      tensor.dataLocation = 1
      tensor.externalData = Object.entries(entries)
        .filter(([key]) => key === 'location' || random.chance(0.4))
        .map(([key, value]) => create(StringStringEntryProtoSchema, { key, value }))
    },
  },
  {
    name: 'graphs within each other',
    weight: 1,
    graph: (model, random) => {
      const depth = random.pick([2, 10, 30, 200])
      const inner = (left: number): NodeProto => {
        const g = left > 0 ? { name: 'g', node: [inner(left - 1)], output: graphOf(model).output } : { name: 'g' }
        const attribute = ['then_branch', 'else_branch', 'body'].map((name) =>
          create(AttributeProtoSchema, { name, type: attributeTypes.GRAPH, g }),
        )
        return create(NodeProtoSchema, {
          opType: random.pick(['If', 'Loop', 'Scan']),
          input: [aValue(model, random)],
          output: ['deep'],
          attribute: attribute.slice(0, 1),
        })
      }
      graphOf(model).node.push(inner(depth))
    },
  },
]
