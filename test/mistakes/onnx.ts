// ONNX: reading, writing, building, editing, converting and drawing models, and steps put into them.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Tensor } from '../../lib/index.js'
import * as typed from '../../lib/onnx/index.js'
import { addModel, oneNode, reluModel, weightedModel } from '../support/models.js'
import { argument, type Room, wrongly } from './table.js'

const onnx = wrongly(typed)
const { GraphBuilder, GraphEditor, readModel, writeModel, saveModel } = onnx

const files: Room = async ({ folder }) => {
  const model = await typed.readModel(weightedModel())
  const path = join(folder, 'model.onnx')
  writeFileSync(path, weightedModel())
  const external = await typed.readModel(addModel(1, 4, 'gone.bin'))
  const out = join(folder, 'out.onnx')
  return [
    [() => readModel(), argument, ['a path', 'undefined']],
    [() => readModel(model), argument, ['a path', 'Object']],
    [() => readModel(readModel(path)), argument, ['a Promise: await it']],
    [() => readModel('nope.onnx'), 'ERR_TRT_FILE', ['nope.onnx', 'no such file']],
    [() => readModel(folder), 'ERR_TRT_FILE', ['is a folder']],
    [() => readModel('https://example.com/model.onnx'), argument, ['download it first']],
    [() => writeModel(), argument, ['readModel()', 'undefined']],
    [() => writeModel(path), argument, ['readModel()', 'string']],
    [() => writeModel(typed.readModel(path)), argument, ['a Promise: await it']],
    [() => writeModel({ graph: {} }), argument, ['readModel()', 'Object']],
    [() => saveModel(model), argument, ['a path', 'undefined']],
    [() => saveModel(path, model), argument, ['a path', 'Object']],
    [() => saveModel(model, folder), 'ERR_TRT_FILE', ['folder']],
    [() => saveModel(model, join(folder, 'no', 'out.onnx')), 'ERR_TRT_FILE', ['out.onnx', 'there is no folder']],
    [() => saveModel(model, out, { external: true }), argument, ['did you mean externalData?']],
    [() => saveModel(model, out, { externalData: 'yes' }), argument, ['externalData', '"yes"']],
    [() => onnx.loadExternalData(external), argument, ['the folder of the model', 'undefined']],
    [() => onnx.loadExternalData(external, folder), 'ERR_TRT_FILE', ['gone.bin']],
    [() => onnx.inspectModel(), argument, ['readModel()', 'undefined']],
    [() => onnx.inspectModel(path), argument, ['readModel()', 'string']],
    [() => onnx.checkModel(path), argument, ['readModel()', 'string']],
    [() => onnx.modelSize(path), argument, ['readModel()', 'string']],
    [() => onnx.modelSize(model, { shape: {} }), argument, ['did you mean shapes?']],
    [() => onnx.inferTypes(model, { shapes: 'x:1x4' }), argument, ['shapes', '"x:1x4"']],
    [() => onnx.inferTypes(model, { shapes: { images: [1, 4] } }), 'ERR_TRT_UNKNOWN_INPUT', ['images', 'x']],
    [() => onnx.inferTypes(model, { shapes: { x: [1, 5] } }), 'ERR_TRT_SHAPE', ['x', '[1, 5]']],
    [() => onnx.copyModel(path), argument, ['readModel()', 'string']],
    [() => onnx.drawModel(path), argument, ['readModel()', 'string']],
    [() => onnx.drawModel(model, { format: 'png' }), argument, ["'svg'", 'format', '"png"']],
    [() => onnx.drawModel(model, { around: 'conv1' }), argument, ['conv1']],
    [() => onnx.drawModel(model, { depth: -1 }), argument, ['depth', '-1']],
    [() => onnx.withOpset(model), argument, ['opset', 'undefined']],
    [() => onnx.withOpset(model, '18'), argument, ['opset', '"18"']],
    [() => onnx.withOpset(model, 99), 'ERR_TRT_UNSUPPORTED', ['opset 99', 'opset 22 at most']],
    [() => onnx.withOpset(model, 9), 'ERR_TRT_UNSUPPORTED', ['9', '17']],
    [() => onnx.withOpset(path, 18), argument, ['readModel()', 'string']],
    [() => onnx.convertPrecision(model), argument, ["'fp16' or 'bf16'", 'precision', 'undefined']],
    [() => onnx.convertPrecision(model, 'half'), argument, ["'fp16' or 'bf16'", '"half"']],
    [() => onnx.convertPrecision(model, 'float16'), argument, ["'fp16' or 'bf16'", '"float16"']],
    [() => onnx.convertPrecision(model, { precision: 'fp16' }), argument, ["'fp16' or 'bf16'", 'Object']],
    [() => onnx.convertPrecision(path, 'fp16'), argument, ['readModel()', 'string']],
    [() => onnx.convertPrecision(model, 'fp16', { keep: ['Softmax'] }), argument, ['keep', 'array of 1']],
    [() => onnx.convertPrecision(model, 'fp16', { keepIo: true }), argument, ['did you mean keepIO?']],
    [() => onnx.convertPrecision(model, 'fp16', { ranges: [1] }), argument, ['ranges', 'array [1]']],
    [() => onnx.convertPrecision(model, 'fp16', { dataMax: -1 }), argument, ['dataMax', '-1']],
    [() => onnx.openSizes(model, { input: 'images' }), 'ERR_TRT_UNKNOWN_INPUT', ['images', 'x']],
    [() => onnx.openSizes(path), argument, ['readModel()', 'string']],
    [() => onnx.openSizes(model, { inputs: ['x'] }), argument, ['did you mean input?']],
  ]
}

const graphs: Room = async () => {
  const graph = wrongly(new typed.GraphBuilder({ name: 'mine' }))
  graph.input('x', 'float32', ['N', 4])
  graph.node('Relu', ['x'], {}, { output: 'y', name: 'relu' })
  const editor = wrongly(new typed.GraphEditor(await typed.readModel(reluModel())))
  const [node] = editor.nodes() as typed.NodeProto[]
  const tensor = Tensor.zeros('float32', [4])
  return [
    [() => new GraphBuilder(), argument, ['the options of GraphBuilder', 'undefined']],
    [() => new GraphBuilder('mine'), argument, ['the options of GraphBuilder', '"mine"']],
    [() => new GraphBuilder({}), argument, ['name of the graph', 'undefined']],
    [() => new GraphBuilder({ name: 'a', opset: '17' }), argument, ['opset', '"17"']],
    [() => new GraphBuilder({ name: 'a', version: 17 }), argument, ['did you mean irVersion?']],
    [() => new GraphBuilder({ name: 'a', domains: ['com.microsoft'] }), argument, ['domains', 'array of 1']],
    [() => new GraphBuilder({ name: 'a', domains: { 'com.microsoft': true } }), argument, ['com.microsoft', 'true']],
    [() => new GraphBuilder({ name: 'a', producer: 'me' }), argument, ['producer', '"me"']],
    [() => graph.input(), argument, ['undefined']],
    [() => graph.input('x', 'float32', [1]), argument, ['"x"', 'already']],
    [() => graph.input('z', 'fp16', [1]), argument, ['float16', '"fp16"']],
    [() => graph.input('z', 'float32'), argument, ['shape', 'undefined']],
    [() => graph.input('z', 'float32', 4), argument, ['shape', 'number 4']],
    [() => graph.input('z', 'float32', [-1, 4]), argument, ['-1']],
    [() => graph.constant('w', [1, 2]), argument, ['a Tensor', 'array [1, 2]']],
    [() => graph.constant('x', tensor), argument, ['"x"', 'already']],
    [() => graph.node('Relu', 'x'), argument, ['inputs', '"x"']],
    [() => graph.node('Relu', ['z']), argument, ['"z"', 'Relu']],
    [() => graph.node('', ['x']), argument, ['operator', '""']],
    [() => graph.node('Relu', ['x'], {}, { domain: 'com.microsoft' }), argument, ['com.microsoft', 'domains']],
    [() => graph.node('Concat', ['x', 'x'], { axis: '0.5x', more: {} }), argument, ['attribute more', 'Object']],
    [() => graph.node('Concat', ['x', 'x'], { axis: null }), argument, ['attribute axis', 'null']],
    [() => graph.node('Relu', ['x'], {}, { output: 'y' }), argument, ['"y"', 'already']],
    [() => graph.node('Relu', ['x'], {}, { name: 'relu' }), argument, ['"relu"', 'already']],
    [() => graph.output('nope', 'float32', [1]), argument, ['"nope"']],
    [() => graph.output('y', 'float', ['N', 4]), argument, ['float32', '"float"']],
    [() => new typed.GraphBuilder({ name: 'empty' }).toModel(), argument, ['no output', 'call output()']],
    [() => new GraphEditor(), argument, ['readModel()', 'undefined']],
    [() => new GraphEditor('model.onnx'), argument, ['readModel()', 'string']],
    [() => new GraphEditor(reluModel()), argument, ['readModel()', 'Uint8Array']],
    [() => editor.addConstant('w', [1]), argument, ['a Tensor', 'array [1]']],
    [() => editor.replaceUses('x', 'nope'), argument, ['nope']],
    [() => editor.remove('relu'), argument, ['relu']],
    [() => editor.replaceInput(node, 3, 'x'), argument, ['3']],
    [() => editor.setOpset('18'), argument, ['18']],
    [() => editor.addOutput('nope', 'float32'), argument, ['nope']],
    [() => onnx.tensorToProto([1]), argument, ['a Tensor', 'array [1]']],
    [() => onnx.tensorFromProto({}), argument, ['a TensorProto', 'Object']],
    [() => onnx.elementTypeNumber('fp16'), argument, ['float16', '"fp16"']],
    [
      () =>
        onnx.intAttribute(
          editor.nodes().find(() => false),
          'axis',
        ),
      argument,
      ['a node of a model', 'undefined'],
    ],
    [() => onnx.floatAttribute('conv1', 'alpha'), argument, ['a node of a model', '"conv1"']],
    [() => onnx.isOnnx('Relu'), argument, ['a node of a model', '"Relu"']],
    [() => onnx.float('1'), argument, ['"1"']],
  ]
}

const steps: Room = async () => {
  const { withPreprocessing, withPostprocessing } = onnx
  const picture = await typed.readModel(reluModel([1, 3, 8, 8], 'images'))
  const vector = await typed.readModel(reluModel([1, 4]))
  const bytes = await typed.readModel(oneNode('Relu', [1, 3, 8, 8]))
  const own = { picture: 'dynamic', steps: { range: '0-1' } }
  return [
    [() => withPreprocessing(), argument, ['undefined']],
    [() => withPreprocessing(picture), argument, ['undefined']],
    [() => withPreprocessing('model.onnx', { ...own }), argument, ['readModel()', 'string']],
    [() => withPreprocessing(picture, { range: '0-1' }), argument, ["'limited' or 'full'", '"0-1"']],
    [() => withPreprocessing(picture, { picture: 'dynamic', steps: 'imagenet' }), argument, ['steps', '"imagenet"']],
    [() => withPreprocessing(picture, { picture: 'dynamic', steps: { range: '0..1' } }), argument, ['range', '"0..1"']],
    [
      () => withPreprocessing(picture, { picture: 'dynamic', steps: { mean: 'imagenet' } }),
      argument,
      ['mean', '"imagenet"'],
    ],
    [
      () => withPreprocessing(picture, { picture: 'dynamic', steps: { resize: 'crop' } }),
      argument,
      ['resize', '"crop"'],
    ],
    [() => withPreprocessing(picture, { picture: 'dynamic', steps: { normalize: true } }), argument, ['"normalize"']],
    [() => withPreprocessing(vector, { ...own }), 'ERR_TRT_SHAPE', ['x', '[1, 4]']],
    [() => withPreprocessing(picture, { ...own, input: 'pixels' }), 'ERR_TRT_UNKNOWN_INPUT', ['pixels', 'images']],
    [() => withPreprocessing(picture, { ...own, layout: 'HWC' }), argument, ["'NHWC' or 'NCHW'", '"HWC"']],
    [() => withPreprocessing(picture, { ...own, size: '8x8' }), argument, ['size', '"8x8"']],
    [() => withPreprocessing(picture, { ...own, format: 'bgr' }), argument, ["'rgb' or 'nv12'", '"bgr"']],
    [() => withPostprocessing(bytes), argument, ['undefined']],
    [() => withPostprocessing(bytes, 'softmax'), argument, ['"softmax"']],
    [() => withPostprocessing(bytes, { kind: 'topk', k: 5 }), argument, ["'topK'", '"topk"']],
    [() => withPostprocessing(bytes, { kind: 'nms' }), argument, ["'softmax'", '"nms"']],
    [() => withPostprocessing(bytes, { kind: 'topK' }), argument, ['k', 'undefined']],
    [() => withPostprocessing(bytes, { kind: 'topK', k: 0 }), argument, ['k', 'number 0']],
    [() => withPostprocessing(bytes, { kind: 'softmax', axis: 9 }), argument, ['axis', 'number 9']],
    [() => withPostprocessing(bytes, { kind: 'softmax', output: 'scores' }), argument, ['scores']],
    [() => withPostprocessing(vector, { kind: 'argmax' }), 'ERR_TRT_SHAPE', ['[1, 4]']],
  ]
}

export const onnxRooms: readonly Room[] = [files, graphs, steps]
