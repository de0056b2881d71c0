// A JPEG becomes what ResNet-50 takes: the middle of the picture, by ImageNet's mean and deviation.
import { defineModel, InvalidRequestError } from 'node-tensorrt/serve'
import { centerCrop, toTensor } from 'node-tensorrt/vision'
import 'sharp' // without it no picture can be read, whosever fault that were: the model is not loaded then

const side = 224

export default defineModel({
  // it awaits: while some pictures are decoded, others are begun
  concurrency: 4,
  // what waits comes together; each request has an answer of its own: outputs, or the error that it alone fails with
  execute: (requests) =>
    Promise.all(
      requests.map(async (request) => {
        const { data, shape } = Object(request.inputs.jpeg)
        const [rows, length] = shape
        const jpegs = Array.from({ length: rows }, (_, row) => data.subarray(row * length, (row + 1) * length))
        // memory that leaves this thread as it is; a tensor of the module's own would be copied
        const pixels = request.output('pixels', [rows, 3, side, side]).as('float32')
        return toTensor(jpegs, (picture) => centerCrop(picture, side, { resize: 256 }), {
          filter: 'triangle',
          round: true,
          range: '0-1',
          mean: [0.485, 0.456, 0.406],
          std: [0.229, 0.224, 0.225],
          into: pixels,
          signal: request.signal,
        }).then(
          () => ({ pixels }),
          // that it cannot be read is the client's fault, all else is this model's
          (error) =>
            error.code === 'ERR_TRT_IMAGE' ? new InvalidRequestError(error.message, { cause: error }) : error,
        )
      }),
    ),
})
