// A JPEG becomes what ResNet-50 takes: the middle of the picture, by ImageNet's mean and deviation.
import { defineModel } from 'node-tensorrt/serve'
import { centerCrop, toTensor } from 'node-tensorrt/vision'

// torchvision's: the shorter side to 256, of that the 224 in the middle, with PIL's antialias
const side = 224
const frame = (picture) => centerCrop(picture, side, { resize: 256 })
const steps = { filter: 'triangle', round: true, range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }

export default defineModel({
  execute: (requests) => Promise.all(requests.map((request) => prepared(request).catch((error) => error))),
})

/** The answer to one request: so many JPEGs of one length as it has rows, most often one. */
async function prepared(request) {
  const { data, shape } = request.inputs.jpeg
  const [rows, length] = shape
  const jpegs = Array.from({ length: rows }, (_, row) => data.subarray(row * length, (row + 1) * length))
  // memory of the next model where there is some: what toTensor writes there is copied no more
  const pixels = request.output('pixels', [rows, 3, side, side])
  await toTensor(jpegs, frame, { ...steps, into: pixels, signal: request.signal })
  return { pixels }
}
