// A model of each operator that ONNX has for floating point, in each of its versions: test/facts/schemas.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { attributeToProto, type AttributeValue } from '../../lib/onnx/attributes.js'
import { elementTypeNumber, type ElementType, float, type ModelProto } from '../../lib/onnx/index.js'
import { ModelProtoSchema, type ValueInfoProto } from '../../lib/onnx/onnx_pb.js'
import { valueInfo } from '../../lib/onnx/value-info.js'
import { root } from '../fake/build.js'

type Value = readonly [name: string, type: string, how: 'single' | 'optional' | 'variadic']

interface Version {
  readonly since: number
  readonly deprecated?: true
  readonly inputs: readonly Value[]
  readonly outputs: readonly Value[]
  readonly types: Readonly<Record<string, readonly string[]>>
  readonly attributes: Readonly<Record<string, readonly [kind: string, isRequired: boolean]>>
}

/** Inputs that are no whole numbers of 64 bits, by position: what is in the table is of floating point alone. */
const others: Readonly<Record<string, Readonly<Record<number, ElementType>>>> = {
  Compress: { 1: 'bool' },
  DequantizeLinear: { 0: 'uint8', 2: 'uint8' },
  Dropout: { 2: 'bool' },
  GRU: { 4: 'int32' },
  LSTM: { 4: 'int32' },
  QuantizeLinear: { 2: 'uint8' },
  RNN: { 4: 'int32' },
  Where: { 0: 'bool' },
}

const values: Readonly<Record<string, AttributeValue>> = {
  INT: 1,
  INTS: [1, 1],
  FLOAT: float(1),
  FLOATS: [1.5, 1.5],
  STRING: 'ij,jk->ik',
}

/** A model, and whose it is. */
export interface OfOperator {
  readonly name: string
  readonly opset: number
  readonly what: string
  readonly model: ModelProto
}

function* modelsOf(name: string, version: Version, opset: number): Generator<OfOperator> {
  const { inputs, outputs, types, attributes } = version
  const isFloat = (type: string): boolean => types[type]?.includes('float') ?? false
  const required = Object.entries(attributes).filter(([, [, isRequired]]) => isRequired)
  if (required.some(([, [kind]]) => values[kind] === undefined)) return // graphs inside
  const typed = (list: readonly Value[], prefix: string, otherwise: (i: number) => ElementType): ValueInfoProto[] =>
    list.flatMap(([, type, how], i) =>
      Array.from({ length: how === 'variadic' ? 2 : 1 }, (_, k) =>
        valueInfo(`${prefix}${i}_${k}`, isFloat(type) ? 'float32' : otherwise(i), [`N${prefix}${i}`]),
      ),
    )
  const hasFloats = outputs.some(([, type]) => isFloat(type))
  for (const all of inputs.some(([, , how]) => how === 'optional') ? [false, true] : [false])
    // where no output is of floating point, the table does not say what it is
    for (const dtype of hasFloats ? (['int64'] as const) : (['int64', 'bool', 'uint8'] as const)) {
      const read = typed(
        inputs.filter(([, , how]) => all || how !== 'optional'),
        'x',
        (i) => others[name]?.[i] ?? 'int64',
      )
      const given = typed(
        outputs.filter(([, , how]) => how !== 'optional'),
        'y',
        () => dtype,
      )
      // a Reshape to what is not known, since ONNX wants to know how many dimensions inputs and outputs have
      const shaped = (from: string, to: string) => ({
        opType: 'Reshape',
        name: to,
        input: [from, 'shape'],
        output: [to],
      })
      const node = {
        opType: name,
        name: 'node',
        input: read.map((each) => `${each.name}_any`),
        output: given.map((each) => `${each.name}_any`),
        attribute: required.map(([attribute, [kind]]) =>
          attributeToProto({ type: name, domain: '' }, attribute, values[kind]!),
        ),
      }
      // and of floating point a Neg: what only moves elements is converted beside what computes
      const before = read.flatMap(({ name: input, type }) => {
        if (type?.value.case !== 'tensorType' || type.value.value.elemType !== elementTypeNumber('float32'))
          return [shaped(input, `${input}_any`)]
        return [
          { opType: 'Neg', name: `${input}_neg`, input: [input], output: [`${input}_neg`] },
          shaped(`${input}_neg`, `${input}_any`),
        ]
      })
      const after = given.map((each) => ({
        ...shaped(`${each.name}_any`, each.name),
        input: [`${each.name}_any`, 'flat'],
      }))
      const model = create(ModelProtoSchema, {
        irVersion: 8n,
        opsetImport: [{ domain: '', version: BigInt(opset) }],
        graph: {
          name: 'operator',
          node: [...before, node, ...after],
          input: [...read, valueInfo('shape', 'int64', ['rank'])],
          output: given,
          initializer: [{ name: 'flat', dataType: elementTypeNumber('int64'), dims: [1n], int64Data: [-1n] }],
        },
      })
      yield {
        name,
        opset,
        what: `${name} of opset ${opset}${all ? ', all inputs' : ''}${hasFloats ? '' : `, ${dtype}`}`,
        model,
      }
    }
}

/**
 * One of each operator, version and choice of inputs; some are none that ONNX takes. Of each version the first and the
 * last opset, from 6 on.
 */
export function* operatorModels(newest: number): Generator<OfOperator> {
  const { operators } = JSON.parse(readFileSync(join(root, 'test', 'facts', 'schemas.json'), 'utf8')) as {
    readonly operators: Readonly<Record<string, readonly Version[]>>
  }
  for (const [name, versions] of Object.entries(operators)) {
    if (name === 'Constant') continue // one of its attributes is required, whichever
    for (const [i, version] of versions.entries()) {
      const last = Math.min(newest, (versions[i + 1]?.since ?? Infinity) - 1)
      const first = Math.max(6, version.since)
      if (version.deprecated || last < first || !Object.values(version.types).some((types) => types.includes('float')))
        continue
      for (const opset of new Set([first, last])) yield* modelsOf(name, version, opset)
    }
  }
}
