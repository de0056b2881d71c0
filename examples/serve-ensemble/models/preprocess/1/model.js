// A JPEG becomes what ResNet-50 takes: the middle of the picture, by ImageNet's mean and deviation.
import { defineModel, InvalidRequestError } from 'node-tensorrt/serve'
import { centerCrop, readImage, toTensor } from 'node-tensorrt/vision'
import 'sharp' // without it no picture can be read, whosever fault that were: the model is not loaded then

const side = 224
const limitPixels = 40e6 // a file of some kilobytes can have gigabytes of pixels; 40 megapixels take 120 MB

export default defineModel({
  // it awaits: while some pictures are decoded, others are begun
  concurrency: 4,
  // what waits comes together; each request has an answer of its own: outputs, or the error that it alone fails with
  execute: (requests) =>
    Promise.all(
      requests.map(async (request) => {
        const { inputs, signal } = request
        const { data, shape } = Object(inputs.jpeg)
        const [rows, length] = shape
        const jpegs = Array.from({ length: rows }, (_, row) => data.subarray(row * length, (row + 1) * length))
        try {
          const pictures = await Promise.all(jpegs.map((jpeg) => readImage(jpeg, { limitPixels, signal })))
          // memory that leaves this thread as it is; a tensor of the module's own would be copied
          const pixels = request.output('pixels', [rows, 3, side, side]).as('float32')
          await toTensor(pictures, (picture) => centerCrop(picture, side, { resize: 256 }), {
            filter: 'triangle',
            round: true,
            range: '0-1',
            mean: [0.485, 0.456, 0.406],
            std: [0.229, 0.224, 0.225],
            into: pixels,
            signal,
          })
          return { pixels }
        } catch (error) {
          // that it cannot be read is the client's fault, all else is this model's
          const failure = Object(error)
          return failure.code === 'ERR_TRT_IMAGE' ? new InvalidRequestError(failure.message, { cause: error }) : failure
        }
      }),
    ),
})
