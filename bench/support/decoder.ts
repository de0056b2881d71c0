/** A tiny decoder with a cache of keys and values, as transformers.js runs them; its weights are seeded. */
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, type Value, writeModel } from '../../lib/onnx/index.js'
import { Random } from '../../test/support/random.js'

export const size = { layers: 4, hidden: 256, heads: 4, vocabulary: 512 } as const
const width = size.hidden / size.heads

/** The caches' names: what a step gives, and what the next takes. */
export const caches = Array.from({ length: size.layers }, (_, i) =>
  ['key', 'value'].map((part) => `${i}.${part}`),
).flat()
const cacheShape = (length: string): (string | number)[] => [1, size.heads, length, width]
/** Before the first token. */
export const emptyShape = [1, size.heads, 0, width] as const

export function tinyDecoder(): Uint8Array {
  const g = new GraphBuilder({ name: 'decoder' })
  const random = new Random(31)
  const { hidden, heads, vocabulary } = size
  const matrix = (name: string, rows: number, columns: number): Value => {
    const data = Float32Array.from({ length: rows * columns }, () => random.around() / Math.sqrt(rows))
    return g.constant(name, new Tensor('float32', data, [rows, columns]))
  }
  const whole = (name: string, ...values: number[]): Value =>
    g.constant(name, new Tensor('int64', BigInt64Array.from(values, BigInt), [values.length]))
  const scale = g.constant('scale', new Tensor('float32', Float32Array.of(1 / Math.sqrt(width)), []))
  const [byHeads, together] = [whole('byHeads', 1, 1, heads, width), whole('together', 1, 1, hidden)]
  const split = (x: Value): Value => g.node('Transpose', [g.node('Reshape', [x, byHeads])], { perm: [0, 2, 1, 3] })

  let x = g.node('Gather', [matrix('embedding', vocabulary, hidden), g.input('input_ids', 'int64', [1, 1])])
  for (let i = 0; i < size.layers; i++) {
    const project = (part: string, of: Value, to: number = hidden, from: number = hidden): Value =>
      g.node('MatMul', [of, matrix(`${i}.${part}.weight`, from, to)])
    const [query, key, value] = ['query', 'key', 'value'].map((part) => split(project(part, x))) as [
      Value,
      Value,
      Value,
    ]
    const grown = (part: string, now: Value): Value => {
      const past = g.input(`past_key_values.${i}.${part}`, 'float32', cacheShape('past'))
      const present = g.node('Concat', [past, now], { axis: 2 }, { output: `present.${i}.${part}` })
      g.output(present, 'float32', cacheShape('total'))
      return present
    }
    const [keys, values] = [grown('key', key), grown('value', value)]
    const scores = g.node('MatMul', [query, g.node('Transpose', [keys], { perm: [0, 1, 3, 2] })])
    const weights = g.node('Softmax', [g.node('Mul', [scores, scale])], { axis: -1 })
    const seen = g.node('Transpose', [g.node('MatMul', [weights, values])], { perm: [0, 2, 1, 3] })
    x = g.node('Add', [x, project('out', g.node('Reshape', [seen, together]))])
    x = g.node('Add', [x, project('down', g.node('Relu', [project('up', x, 2 * hidden)]), hidden, 2 * hidden)])
  }
  const logits = g.node('MatMul', [x, matrix('head', hidden, vocabulary)], {}, { output: 'logits' })
  g.output(logits, 'float32', [1, 1, vocabulary])
  return writeModel(g.toModel())
}
