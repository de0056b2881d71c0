// What the library is, and what its parser makes of models.
import { Builder, capabilities, inspect } from '../../../lib/index.js'
import { elementTypeNumber, type ElementType, GraphBuilder, readModel, writeModel } from '../../../lib/onnx/index.js'
import { dense, float, identity, oneNode, operators, relu, types } from '../models.js'
import type { Place, Scenario } from './scenario.js'

const parse = ({ recorder, tensorrt }: Place, name: string, model: Uint8Array): Promise<unknown> =>
  recorder.observe('Builder.parse', { model: name }, async () => {
    await using builder = new Builder({ tensorrt: { library: tensorrt } })
    return await builder.parse(model)
  })

/** y = x, cast to a type that a network has and back. */
function casts(from: ElementType, to: ElementType): Uint8Array {
  const graph = new GraphBuilder({ name: 'casts', opset: 21 })
  const there = graph.node('Cast', [graph.input('x', from, [4])], { to: elementTypeNumber(to) }, { name: 'there' })
  graph.output(graph.node('Cast', [there], { to: elementTypeNumber(from) }, { name: 'back', output: 'y' }), from, [4])
  return writeModel(graph.toModel())
}

/** A model of which something is changed that GraphBuilder would refuse. */
async function changed(change: (model: Awaited<ReturnType<typeof readModel>>) => void): Promise<Uint8Array> {
  const model = await readModel(relu())
  change(model)
  return writeModel(model)
}

export const parsing: readonly Scenario[] = [
  {
    name: 'the library',
    play: async ({ recorder, tensorrt }) => {
      const look = ({ tensorrt: [library] }: Awaited<ReturnType<typeof capabilities>>): unknown => {
        const { kind, version, canBuild, canRun, foundBy } = library ?? {}
        return { kind, version, canBuild, canRun, foundBy }
      }
      await recorder.observe('capabilities', {}, () => capabilities({ tensorrt: { library: tensorrt } }), look)
    },
  },
  {
    name: 'networks of one operator',
    play: async (place) => {
      for (const [name, model] of Object.entries(operators)) await parse(place, name, model)
    },
  },
  {
    name: 'types of tensors',
    play: async (place) => {
      for (const type of types) await parse(place, `Identity of ${type}`, identity(type))
      for (const type of types)
        if (type !== 'float32') await parse(place, `Cast to ${type} and back`, casts('float32', type))
    },
  },
  {
    name: 'ranks and dimensions',
    play: async (place) => {
      for (const shape of [
        [],
        [1],
        ['N'],
        ['batch', 3, 'height', 'width'],
        [1, 2, 1, 2, 1, 2, 1, 2],
        [0, 4],
        [1, 2, 1, 2, 1, 2, 1, 2, 1],
      ])
        await parse(place, `Relu of [${shape.join(', ')}]`, relu(shape))
    },
  },
  {
    name: 'models that cannot be parsed',
    play: async (place) => {
      const whole = dense()
      await parse(place, 'no bytes', new Uint8Array())
      await parse(place, 'cut in the middle', whole.subarray(0, whole.length / 2))
      await parse(
        place,
        'an unknown operator',
        oneNode('NoSuchOperator', { inputs: [float(1, 4)], output: float(1, 4) }),
      )
      await parse(
        place,
        'an unknown operator of another domain',
        oneNode('NoSuchOperator', { inputs: [float(1, 4)], output: float(1, 4), domain: 'org.example' }),
      )
      await parse(
        place,
        'an operator of ONNX in another domain',
        oneNode('Relu', { inputs: [float(1, 4)], output: float(1, 4), domain: 'org.example' }),
      )
      await parse(
        place,
        'a value that nobody makes',
        await changed(({ graph }) => graph?.node[0]?.input.splice(0, 1, 'nobody')),
      )
      await parse(
        place,
        'an output that nobody makes',
        await changed(({ graph }) => graph?.node[0]?.output.splice(0, 1, 'nobody')),
      )
      await parse(place, 'no outputs', await changed(({ graph }) => graph?.output.splice(0)))
      await parse(
        place,
        'no nodes and no outputs',
        await changed(({ graph }) => (graph?.output.splice(0), graph?.node.splice(0))),
      )
      await parse(
        place,
        'shapes that do not fit',
        oneNode('Add', { inputs: [float(2, 3), float(2, 4)], output: float(2, 4) }),
      )
      await parse(
        place,
        'products that do not fit',
        oneNode('MatMul', { inputs: [float(2, 3), float(4, 2)], output: float(2, 2) }),
      )
    },
  },
  {
    name: 'a verdict on models',
    play: async ({ recorder, tensorrt }) => {
      for (const [name, model] of Object.entries({
        dense: dense(),
        nothing: oneNode('NoSuchOperator', { inputs: [float(4)], output: float(4) }),
      }))
        await recorder.observe(
          'inspect',
          { model: name },
          () => inspect(model, { tensorrt: { library: tensorrt } }),
          (found) => {
            const { takes, ...more } = found.kind === 'model' ? found.tensorrt : { takes: undefined }
            return { takes, network: 'network' in more }
          },
        )
    },
  },
]
