// What TypeScript has to refuse: each line below a directive is an error.
import {
  Builder,
  type BuildInfo,
  DeviceTensor,
  Engine,
  type InferOptions,
  Plan,
  Tensor,
  type TensorRecord,
} from 'node-tensorrt'
import { Calibrator } from 'node-tensorrt/quantization'

declare const undeclared: Engine
declare const declared: Engine<{ images: 'float32' }, { scores: 'float32'; best: 'int64' }>
declare const two: Engine<{ a: 'float32'; b: 'int8' }, { y: 'float32' }>
declare const float: Tensor<'float32'>
declare const long: Tensor<'int64'>
declare const any: Tensor
declare const there: DeviceTensor<'float32'>
declare const results: TensorRecord

export async function refused(plan: Plan): Promise<void> {
  // @ts-expect-error of a Uint16Array the data type has to be said
  Tensor.from(new Uint16Array(2))
  // @ts-expect-error numbers of 64 bits without a sign are no int64
  const signed: Tensor<'int64'> = Tensor.from(new BigUint64Array(2))
  // @ts-expect-error a float64 is no float32
  const single: Tensor<'float32'> = Tensor.from(new Float64Array(2))
  // @ts-expect-error TensorRT has no float64
  new Builder({ inputFormats: { x: { dtype: 'float64' } } })
  // @ts-expect-error nor layers of it
  new Builder({ precisionConstraints: 'obey', layerPrecisions: { a: 'uint32' } })
  // @ts-expect-error TensorRT calibrates by entropy and minmax alone
  await new Builder({ precision: 'int8' }).build('m.onnx', { calibrator: { algorithm: 'mse', batches: () => [float] } })
  await new Builder({ precision: 'int8' }).build('m.onnx', {
    // @ts-expect-error the same of a Calibrator
    calibrator: new Calibrator([float], { algorithm: 'percentile' }),
  })
  // @ts-expect-error no generic that only casts
  Tensor.from<'bool'>(new Uint8Array(2))
  // @ts-expect-error another array than the data type's
  new Tensor('float32', new Float64Array(2), [2])
  // @ts-expect-error numbers of 32 bits are no bigints
  new Tensor('int32', [1n], [1])
  // @ts-expect-error nested arrays
  new Tensor('float32', [[1, 2]], [1, 2])
  // @ts-expect-error no such data type
  new Tensor('double', new Float64Array(2), [2])
  // @ts-expect-error which data it has is not known yet
  const numbers: Float32Array = any.data
  // @ts-expect-error a tensor of another type
  const wrong: Tensor<'float32'> = long
  // @ts-expect-error int8 is no floating-point type to round to
  Tensor.fromFloat32('int8', [1])
  // @ts-expect-error no generic that only casts
  await undeclared.infer<TensorRecord>(any)
  // @ts-expect-error no generic that only casts
  undeclared.inferSync<Tensor<'float32'>>(any)
  // @ts-expect-error the declaration has to be there to be checked
  await Engine.load<{ images: 'float32' }, { scores: 'float32' }>('m.plan')
  // @ts-expect-error the declaration of the outputs too
  await Engine.load<{ images: 'float32' }, { scores: 'float32' }>('m.plan', { inputs: { images: 'float32' } })
  // @ts-expect-error the same for new
  new Engine<{ images: 'float32' }, { scores: 'float32' }>('m.plan')
  // @ts-expect-error no such data type
  await Engine.load('m.plan', { inputs: { images: 'double' } })
  // @ts-expect-error an input that was not declared
  await declared.infer({ picture: float })
  // @ts-expect-error an input is missing
  await two.infer({ a: float })
  // @ts-expect-error of another data type
  await declared.infer({ images: long })
  // @ts-expect-error which of two outputs?
  await declared.infer(float)
  // @ts-expect-error two inputs take no bare tensor
  await two.infer(float)
  // @ts-expect-error no such output
  await declared.infer({ images: float }, { outputs: ['labels'] })
  // @ts-expect-error it was not asked for
  void (await declared.infer({ images: float }, { outputs: ['best'] })).scores
  // @ts-expect-error an array whose names are known at run time only: perhaps
  void (await declared.infer({ images: float }, { outputs: ['best'] as ('best' | 'scores')[] })).best.data
  // @ts-expect-error a target of another data type
  await declared.infer({ images: float }, { into: { scores: long } })
  // @ts-expect-error no such tensor
  declared.allocate('labels', [1])
  // @ts-expect-error it is a Float32Array
  const longs: BigInt64Array = declared.allocate('images', [1, 3]).data
  // @ts-expect-error the outputs of a stream are as those of infer
  for await (const result of declared.stream([float])) void result
  // @ts-expect-error inferSync cannot be aborted
  undeclared.inferSync(any, { signal: new AbortController().signal })
  // @ts-expect-error a misspelt option
  const options: InferOptions = { timeoutMS: 5 }
  // @ts-expect-error no such level
  await Engine.load('m.onnx', { onnxruntime: { optimization: 'most' } })
  // @ts-expect-error onnxruntime takes strings
  await Engine.load('m.onnx', { onnxruntime: { config: { 'session.disable_prepacking': 1 } } })
  // @ts-expect-error it is not ignored
  await Engine.load('m.onnx', { batching: { maxBatch: 4, queue: { onQueueTimeout: 'ignore' } } })
  await Engine.load('m.onnx', {
    // @ts-expect-error policies are of levels
    batching: { maxBatch: 4, priorities: { levels: 2, policies: { first: { maxQueue: 1 } } } },
  })
  // @ts-expect-error how many?
  await Engine.load('m.onnx', { batching: { maxBatch: 4, priorities: { default: 1 } } })
  // @ts-expect-error what is merged is at most how much?
  await Engine.load('m.onnx', { batching: { preserveOrder: true } })
  // @ts-expect-error a number of requests
  await Engine.load('m.onnx', { batching: { maxBatch: 4, holdUntil: true } })
  // @ts-expect-error of streams of CUDA; a request's is a number
  const level: InferOptions = { priority: 'high' }
  // @ts-expect-error milliseconds
  await undeclared.infer(any, { queueTimeoutMs: '5' })
  // @ts-expect-error who blocks his thread waits for no lane but the first that is free
  undeclared.inferSync(any, { priority: 1 })
  // @ts-expect-error nor has a queue timeout
  undeclared.inferSync(any, { queueTimeoutMs: 5 })
  // @ts-expect-error counters only grow
  undeclared.counters().requests = 0
  // @ts-expect-error no kind of failure
  void undeclared.counters().failures.timeout
  // @ts-expect-error what stays on a device nobody waits for
  await undeclared.released(there)
  // @ts-expect-error a view of it
  await undeclared.released(new ArrayBuffer(8))
  // @ts-expect-error bytes, not a shape
  undeclared.allocateBytes([4, 3])
  // @ts-expect-error a block has no type
  const floats: Float32Array = undeclared.allocateBytes(48)
  // @ts-expect-error of an engine that is shared they are decided
  await Engine.attach({ pid: 1, id: '' }, { cpu: { threads: 2 } })
  // @ts-expect-error whose queue is that?
  await Engine.attach({ pid: 1, id: '' }, { queue: 'theirs' })
  // @ts-expect-error who loads an engine has a queue of his own
  await Engine.load('m.onnx', { queue: 'shared' })
  // @ts-expect-error a record is no tensor
  results.shape.length satisfies number
  // @ts-expect-error what its header says is all that is known of it
  new Plan<BuildInfo>(new Uint8Array(100))
  // @ts-expect-error a plan cannot be changed
  plan.bytes = new Uint8Array(1)
  // @ts-expect-error what stays on a device has no data here
  void there.data
  // @ts-expect-error nor what an inference left there
  void (await declared.infer({ images: float }, { location: 'device' })).scores.data
  // @ts-expect-error it is on the device
  const hosted: Tensor<'float32'> = await undeclared.infer(any, { location: 'device' })
  // @ts-expect-error where is that?
  await undeclared.infer(any, { location: 'gpu-buffer' })
  // @ts-expect-error no such output
  await declared.infer({ images: float }, { location: { labels: 'device' } })
  // @ts-expect-error of another data type
  await declared.infer({ images: await undeclared.upload(long) })
  // @ts-expect-error an inference makes them
  new DeviceTensor('float32', [1])
  // @ts-expect-error nothing of a tensor can be set
  float.shape = [1]
  void [hosted, numbers, wrong, longs, options, signed, single, level, floats]
}
