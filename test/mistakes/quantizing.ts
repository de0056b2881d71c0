// INT8: Calibrator, Calibration, quantize and compare.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Calibration as TypedCalibration,
  Calibrator as TypedCalibrator,
  compare as typedCompare,
  compareLayers as typedCompareLayers,
  plotReport as typedPlotReport,
  quantize as typedQuantize,
} from '../../lib/quantization/index.js'
import { Engine, Tensor } from '../../lib/index.js'
import { readModel } from '../../lib/onnx/index.js'
import { quantizedModel, reluModel, weightedModel } from '../support/models.js'
import { argument, type Room, wrongly } from './table.js'

const Calibrator = wrongly(TypedCalibrator)
const Calibration = wrongly(TypedCalibration)
const batch = { x: Tensor.zeros('float32', [1, 4]) }

const calibrators: Room = ({ folder }) => {
  const data = [batch]
  const text = join(folder, 'cal.json')
  writeFileSync(text, '{"ranges": {}}')
  const onnx = join(folder, 'model.onnx')
  writeFileSync(onnx, weightedModel())
  const calibrate = (batches: unknown, model: unknown = weightedModel()): unknown =>
    new Calibrator(batches).calibrate(model)
  return [
    [() => new Calibrator(), argument, ['an iterable of Tensors', 'undefined']],
    [() => new Calibrator(batch), argument, ['an iterable of Tensors', 'Object']],
    [() => new Calibrator('photos'), argument, ['an iterable of Tensors', '"photos"']],
    [() => new Calibrator(batch.x), argument, ['an iterable of Tensors', 'Tensor']],
    [() => new Calibrator(Promise.resolve(data)), argument, ['a Promise: await it']],
    [() => new Calibrator(data, 'entropy'), argument, ['the options of Calibrator', '"entropy"']],
    [() => new Calibrator(data, { algorithm: 'kl' }), argument, ["'entropy'", 'algorithm', '"kl"']],
    [() => new Calibrator(data, { algo: 'entropy' }), argument, ['"algo" for Calibrator', 'algorithm']],
    [() => new Calibrator(data, { percentile: 99.9 }), argument, ['percentile', "algorithm 'percentile'"]],
    [() => new Calibrator(data, { algorithm: 'percentile', percentile: 101 }), argument, ['0 to 100', '101']],
    [() => new Calibrator(data, { batches: 8 }), argument, ['did you mean maxBatches?']],
    [() => new Calibrator(data, { maxBatches: 0 }), argument, ['maxBatches', 'number 0']],
    [() => new Calibrator(data, { cache: true }), argument, ['a path', 'cache', 'true']],
    [() => new Calibrator(data.values(), { cache: 'cal.json' }), argument, ['iterated only once', 'id']],
    [() => calibrate([]), 'ERR_TRT_CALIBRATION', ['no batch']],
    [() => calibrate([new Float32Array(4)]), argument, ['a Tensor or a record of Tensors', 'Float32Array']],
    [() => calibrate([{ x: [0, 1, 2, 3] }]), argument, ['a Tensor', 'x', 'array [0, 1, 2, 3]']],
    [() => calibrate([{ images: batch.x }]), 'ERR_TRT_UNKNOWN_INPUT', ['images', '"x"']],
    [() => calibrate([{}]), 'ERR_TRT_MISSING_INPUT', ['"x"']],
    [() => calibrate([{ x: Tensor.zeros('int8', [1, 4]) }]), 'ERR_TRT_DTYPE', ['float32', 'int8']],
    [() => calibrate([{ x: Tensor.zeros('float32', [4]) }]), 'ERR_TRT_SHAPE', ['[1, 4]', '[4]']],
    [() => new Calibrator(data).calibrate(), argument, ['a path', 'undefined']],
    [() => calibrate(data, 'nope.onnx'), 'ERR_TRT_FILE', ['nope.onnx']],
    [() => new Calibrator(data).calibrate(onnx, { threads: 4 }), argument, ['did you mean cpu.threads?']],
    [() => new Calibrator(data).calibrate(onnx, { cpu: { threads: 0 } }), argument, ['cpu.threads', 'number 0']],
    [() => new Calibrator(data).calibrate(onnx, { backend: 'tensorrt' }), argument, ['"backend" for']],
    [() => Calibration.load(), argument, ['a path', 'undefined']],
    [() => Calibration.load('nope.cache'), 'ERR_TRT_FILE', ['nope.cache', 'no such file']],
    [() => Calibration.load(text), 'ERR_TRT_CALIBRATION', ['calibration']],
    [() => Calibration.load(onnx), 'ERR_TRT_CALIBRATION', ['calibration']],
    [() => Calibration.fromTensorRT(Buffer.from('TRT-100')), argument, ['the text of a calibration cache', 'Buffer']],
    [() => Calibration.fromTensorRT('calib.cache'), 'ERR_TRT_CALIBRATION', ['TRT-']],
  ]
}

const models: Room = async ({ use }) => {
  const [quantize, compare, compareLayers] = [
    wrongly(typedQuantize),
    wrongly(typedCompare),
    wrongly(typedCompareLayers),
  ]
  const model = weightedModel()
  const data = [batch]
  const calibrator = new TypedCalibrator(data)
  const calibration = await calibrator.calibrate(model)
  const other = await new TypedCalibrator([{ x: Tensor.zeros('float32', [1, 4]) }]).calibrate(reluModel())
  const engine = use(await Engine.load(model, { backend: 'cpu' }))
  const closed = await Engine.load(model, { backend: 'cpu' })
  await closed.close()
  const proto = await readModel(model)
  return [
    [() => quantize(), argument, ['undefined']],
    [() => quantize(model), argument, ['a Calibrator', 'undefined']],
    [() => quantize(model, data), argument, ['a Calibrator', 'array of 1']],
    [() => quantize(model, { x: 1 }), argument, ['a Calibrator', 'Object']],
    [() => quantize(model, calibrator.calibrate(model)), argument, ['a Promise: await it']],
    [() => quantize(calibrator, model), argument, ['a path']],
    [() => quantize(model, other), 'ERR_TRT_CALIBRATION', ['another model']],
    [() => quantize(quantizedModel(), calibrator), 'ERR_TRT_PRECISION', ['quantized already', 'QuantizeLinear']],
    [() => quantize(engine, calibrator), argument, ['a path', 'Engine']],
    [() => quantize(model, calibration, { keep: 0.99 }), argument, ['keep', '0.99']],
    [() => quantize(model, calibration, { keep: { cosine: 0.99 } }), argument, ['keep', 'Calibrator']],
    [() => quantize(model, calibrator, { keep: {} }), argument, ['keep.cosine', 'undefined']],
    [() => quantize(model, calibrator, { keep: { cosine: 99 } }), argument, ['keep.cosine', '99']],
    [() => quantize(model, calibration, { exclude: ['conv1'] }), argument, ['exclude', 'array of 1']],
    [() => quantize(model, calibration, { exclude: { names: 'conv1' } }), argument, ['exclude.names', '"conv1"']],
    [
      () => quantize(model, calibration, { exclude: { ops: ['MatMul'] } }),
      argument,
      ['"ops" for exclude', 'operators'],
    ],
    [() => quantize(model, calibration, { weights: 'int4' }), argument, ["'int8' or 'float32'", '"int4"']],
    [() => quantize(model, calibration, { perChannel: true }), argument, ['"perChannel" for quantize']],
    [() => quantize(model, calibration, { threads: 2 }), argument, ['did you mean cpu.threads?']],
    [() => compare(), argument, ['undefined']],
    [() => compare(model, model), argument, ['an iterable of Tensors', 'undefined']],
    [() => compare(model, model, []), argument, ['no batch']],
    [() => compare(model, 'nope.onnx', data), 'ERR_TRT_FILE', ['nope.onnx']],
    [() => compare(engine, closed, data), 'ERR_TRT_CLOSED', ['closed']],
    [() => compare(model, reluModel(), data), argument, ['the same outputs', 'Relu_0']],
    [() => compare(model, model, [{ y: batch.x }]), 'ERR_TRT_UNKNOWN_INPUT', ['"y"', '"x"']],
    [() => compare(model, model, data, { atol: '1e-3' }), argument, ['a number from 0', 'atol', '"1e-3"']],
    [() => compare(model, model, data, { rtol: -1 }), argument, ['a number from 0', 'rtol', '-1']],
    [() => compare(model, model, data, { atol: { scores: 1 } }), argument, ['atol', '"scores"']],
    [() => compare(model, model, data, { tolerance: 0.1 }), argument, ['"tolerance" for compare', 'atol']],
    [() => compare(model, model, data, { device: 0 }), argument, ['"device" for compare']],
    [() => compareLayers(engine, model, data), argument, ['a path', 'Engine']],
    [() => compareLayers(model, proto, 5), argument, ['an iterable of Tensors', 'number 5']],
    [() => wrongly(typedPlotReport)(), argument, ['report', 'undefined']],
    [() => wrongly(calibration).toTensorRT(), argument, ['a version such as 10.6.0', 'undefined']],
    [() => wrongly(calibration).toTensorRT({ version: 10 }), argument, ['a version such as 10.6.0', 'number 10']],
    [() => wrongly(calibration).toTensorRT('10.6.0'), argument, ['the options of toTensorRT', '"10.6.0"']],
    [() => wrongly(calibration).save(), argument, ['a path', 'undefined']],
  ]
}

export const quantizing: readonly Room[] = [calibrators, models]
