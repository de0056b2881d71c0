import { readOptions } from '../base/options.js'
import { TensorRTError } from '../errors.js'
import { checkedFormat, drawn, type DrawingFormat } from '../onnx/drawing/formats.js'
import { type Arrow, type Box, type BoxKind, type DrawnGraph, endBox, shortText } from '../onnx/drawing/graph.js'
import { type ConnectedLayer, connectedLayers, type LayerTensor, precisionTypes } from './inspector.js'

/**
 * The layers of a built engine, coloured by the precision that they compute in, from the inspector's document
 * (`document` of {@link Engine.layers} and of a benchmark's `layers`, what `trtexec --exportLayerInfo` writes).
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT for a document that does not say what layers read and
 * give: that of a plan built without `profilingVerbosity: 'detailed'`
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/engine-tools.html
 */
export async function drawLayers(
  document: string,
  options?: { readonly format?: DrawingFormat | undefined },
): Promise<string> {
  const format = checkedFormat(readOptions(options, ['format'], 'drawLayers').format)
  const layers = connectedLayers(document)
  if (layers.every(({ inputs, outputs }) => inputs.length + outputs.length === 0))
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      "Expected layers with their inputs and outputs in the inspector's document: build the plan with profilingVerbosity 'detailed'",
    )
  return drawn(layerGraph(layers), format)
}

const kinds = new Map<string, BoxKind>(
  Object.entries(precisionTypes).map(([kind, type]) => [type, kind as keyof typeof precisionTypes]),
)

function layerGraph(layers: readonly ConnectedLayer[]): DrawnGraph {
  const producers = new Map(
    layers.flatMap(({ outputs }, i) => outputs.map(({ name }) => [name, `layer ${i}`] as const)),
  )
  const read = new Set(layers.flatMap(({ inputs }) => inputs.map(({ name }) => name)))
  const ends = new Map<string, Box>()
  const end = (tensor: LayerTensor, kind: 'input' | 'output'): string => {
    const box = endBox(kind, tensor.name, tensorText(tensor))
    ends.set(box.id, box)
    return box.id
  }
  const arrows = layers.flatMap(({ inputs, outputs }, i): Arrow[] => [
    ...inputs.map((tensor) => ({
      from: producers.get(tensor.name) ?? end(tensor, 'input'),
      to: `layer ${i}`,
      label: tensorText(tensor),
    })),
    ...outputs
      .filter(({ name }) => !read.has(name))
      .map((tensor) => ({ from: `layer ${i}`, to: end(tensor, 'output'), label: tensorText(tensor) })),
  ])
  return { title: 'Layers of an engine', boxes: [...ends.values(), ...layers.map(layerBox)], arrows }
}

function layerBox({ name, type, precision }: ConnectedLayer, i: number): Box {
  const hint = `${name}\n${type}, ${precision}`
  return {
    id: `layer ${i}`,
    kind: kinds.get(precision) ?? 'other',
    title: shortText(type),
    lines: [shortText(name), precision],
    hint,
  }
}

const tensorText = ({ shape }: LayerTensor): string => shape.join('×')
