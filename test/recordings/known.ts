import type { Json } from './recorder.js'

export interface Known {
  readonly reason: string
  /** Where a fake differs, as replay.slow.test.ts tells it, and what it has there (null: nothing). */
  readonly differences: Readonly<Record<string, Json>>
}

/** By the names of recordings. One that is not so any more, or not just so, fails replay.slow.test.ts. */
export const known: Readonly<Record<string, readonly Known[]>> = {
  'rtx-1.7.1-cpu': [
    {
      reason:
        'the parser adds layers of its own (a shape, casts, a shuffle) to some nodes, where the fake has one layer for each node',
      differences: {
        'networks of one operator: Builder.parse {"model":"Softmax"}: answer.layers': 1,
        'networks of one operator: Builder.parse {"model":"Softmax"}: answer.layerTypes.cast': null,
        'networks of one operator: Builder.parse {"model":"Softmax"}: answer.layerTypes.shape': null,
        'networks of one operator: Builder.parse {"model":"Softmax"}: answer.layerTypes.shuffle': null,
        'networks of one operator: Builder.parse {"model":"Softmax"}: answer.outputTypes.float32': 1,
        'networks of one operator: Builder.parse {"model":"Softmax"}: answer.outputTypes.int64': null,
        'networks of one operator: Builder.parse {"model":"Shape"}: answer.layers': 1,
        'networks of one operator: Builder.parse {"model":"Shape"}: answer.layerTypes.cast': null,
        'networks of one operator: Builder.parse {"model":"Shape"}: answer.outputTypes.int64': 1,
        'networks of one operator: Builder.parse {"model":"ArgMax"}: answer.layers': 1,
        'networks of one operator: Builder.parse {"model":"ArgMax"}: answer.layerTypes.cast': null,
        'networks of one operator: Builder.parse {"model":"ArgMax"}: answer.outputTypes.int64': 1,
        'networks of one operator: Builder.parse {"model":"ArgMax"}: answer.outputTypes.float32': null,
      },
    },
    {
      reason: 'the fake has no layers for stored tensors, nor for what brings them to the rank of the others',
      differences: {
        'networks of one operator: Builder.parse {"model":"Add, of a stored tensor"}: answer.layers': 1,
        'networks of one operator: Builder.parse {"model":"Add, of a stored tensor"}: answer.layerTypes.constant': null,
        'networks of one operator: Builder.parse {"model":"Add, of a stored tensor"}: answer.outputTypes.float32': 1,
        'networks of one operator: Builder.parse {"model":"Add, of a stored tensor"}: answer.weightBytes': 0,
        'networks of one operator: Builder.parse {"model":"Add, of a stored vector"}: answer.layers': 1,
        'networks of one operator: Builder.parse {"model":"Add, of a stored vector"}: answer.layerTypes.constant': null,
        'networks of one operator: Builder.parse {"model":"Add, of a stored vector"}: answer.layerTypes.shuffle': null,
        'networks of one operator: Builder.parse {"model":"Add, of a stored vector"}: answer.outputTypes.float32': 1,
        'networks of one operator: Builder.parse {"model":"Add, of a stored vector"}: answer.weightBytes': 0,
        'networks of one operator: Builder.parse {"model":"MatMul, of a stored tensor"}: answer.layers': 1,
        'networks of one operator: Builder.parse {"model":"MatMul, of a stored tensor"}: answer.layerTypes.constant':
          null,
        'networks of one operator: Builder.parse {"model":"MatMul, of a stored tensor"}: answer.outputTypes.float32': 1,
        'networks of one operator: Builder.parse {"model":"MatMul, of a stored tensor"}: answer.weightBytes': 0,
        'networks of one operator: Builder.parse {"model":"QuantizeLinear and DequantizeLinear"}: answer.layers': 3,
        'networks of one operator: Builder.parse {"model":"QuantizeLinear and DequantizeLinear"}: answer.layerTypes.constant':
          null,
        'networks of one operator: Builder.parse {"model":"QuantizeLinear and DequantizeLinear"}: answer.outputTypes.float32': 2,
        'networks of one operator: Builder.parse {"model":"QuantizeLinear and DequantizeLinear"}: answer.weightBytes': 0,
        'networks of one operator: Builder.parse {"model":"several nodes"}: answer.layers': 4,
        'networks of one operator: Builder.parse {"model":"several nodes"}: answer.layerTypes.constant': null,
        'networks of one operator: Builder.parse {"model":"several nodes"}: answer.layerTypes.shuffle': null,
        'networks of one operator: Builder.parse {"model":"several nodes"}: answer.outputTypes.float32': 4,
        'networks of one operator: Builder.parse {"model":"several nodes"}: answer.weightBytes': 0,
        'precisions: Builder.build {"model":"dense","precision":"fp16"}: answer.outputTypes.float16': 5,
        'precisions: Builder.build {"model":"dense","precision":"bf16"}: answer.outputTypes.bfloat16': 5,
        'precisions: Builder.build {"model":"dense","precision":"int8"}: error.message':
          "TensorRT-RTX 1.7.1 takes its types from the model, which has no 'int8'. (Flags for precisions need TensorRT 10.) The model's tensors: 5 float32; its quantizing layers: none. Put QuantizeLinear and DequantizeLinear of int8 into the ONNX model, as quantize() and `trt quantize` do",
        'precisions: Builder.build {"model":"dense","precision":"int8"}: error.details.tensors': '5 float32',
        'precisions: Builder.build {"model":"dense","precision":"fp8"}: error.message':
          "TensorRT-RTX 1.7.1 takes its types from the model, which has no 'fp8'. (Flags for precisions need TensorRT 10.) The model's tensors: 5 float32; its quantizing layers: none. Put QuantizeLinear and DequantizeLinear of fp8 into the ONNX model",
        'precisions: Builder.build {"model":"dense","precision":"fp8"}: error.details.tensors': '5 float32',
        'precisions: Builder.build {"model":"quantized","precision":"fp16"}: answer.outputTypes.float16': 1,
        'precisions: Builder.build {"model":"quantized","precision":"bf16"}: answer.outputTypes.bfloat16': 1,
        'precisions: Builder.build {"model":"quantized","precision":"int8"}: answer.outputTypes.float32': 2,
        'precisions: Builder.build {"model":"quantized","precision":"fp8"}: error.message':
          "TensorRT-RTX 1.7.1 takes its types from the model, which has no 'fp8'. (Flags for precisions need TensorRT 10.) The model's tensors: 3 float32, 1 int8; its quantizing layers: 2 int8. Put QuantizeLinear and DequantizeLinear of fp8 into the ONNX model",
        'precisions: Builder.build {"model":"quantized","precision":"fp8"}: error.details.tensors': '3 float32, 1 int8',
        'a whole build: Builder.build {"model":"dense"}: answer.layers': 4,
        'a whole build: Builder.build {"model":"dense"}: answer.network.layers': 4,
        'a whole build: Builder.build {"model":"dense"}: answer.network.layerTypes.constant': null,
        'a whole build: Builder.build {"model":"dense"}: answer.network.layerTypes.shuffle': null,
        'a whole build: Builder.build {"model":"dense"}: answer.network.outputTypes.float32': 4,
        'a whole build: Builder.build {"model":"dense"}: answer.network.weightBytes': 0,
      },
    },
  ],
}
