// Pictures, decoders, suppression, masks and drawing.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Tensor } from '../../lib/index.js'
import * as typed from '../../lib/vision/index.js'
import { noise } from '../vision/helpers.js'
import { argument, type Room, wrongly } from './table.js'

const vision = wrongly(typed)
const picture = noise(8, 6)

const reading: Room = ({ folder }) => {
  const { readImage, readImageInfo, writeImage, encodeImage, pictures, pictureFiles } = vision
  const text = join(folder, 'text.jpg')
  writeFileSync(text, 'no picture')
  const out = join(folder, 'out.png')
  return [
    [() => readImage(), argument, ['a path', 'undefined']],
    [() => readImage(picture), argument, ['a path', 'Object']],
    [() => readImage('nope.jpg'), 'ERR_TRT_FILE', ['nope.jpg', 'no such file']],
    [() => readImage(text), 'ERR_TRT_IMAGE', ['text.jpg']],
    [() => readImage(folder), 'ERR_TRT_FILE', ['is a folder']],
    [() => readImage(new Uint8Array()), 'ERR_TRT_IMAGE', ['picture']],
    [() => readImage('https://example.com/a.jpg'), argument, ['download it first']],
    [() => readImage(Promise.resolve(text)), argument, ['a Promise: await it']],
    [() => readImage(text, { size: 640 }), argument, ['"size" for readImage', 'shrink']],
    [() => readImage(text, { resize: 640 }), argument, ['"resize" for readImage']],
    [() => readImage(text, { shrink: '640x480' }), argument, ['shrink', '"640x480"']],
    [() => readImage(text, { page: -1 }), argument, ['page', '-1']],
    [() => readImage(text, { limitPixels: '1M' }), argument, ['limitPixels', '"1M"']],
    [() => readImage(text, { background: 'white' }), argument, ['background', '"white"']],
    [() => readImage(text, { limitInputPixels: false }), argument, ['"limitInputPixels" for readImage', 'limitPixels']],
    [() => readImageInfo('nope.jpg'), 'ERR_TRT_FILE', ['nope.jpg']],
    [() => writeImage(picture), argument, ['a path', 'undefined']],
    [() => writeImage(out, picture), argument, ['a path', 'Object']],
    [() => writeImage(picture, 'a.bmp'), argument, ['.jpg', 'a.bmp']],
    [() => writeImage(picture, join(folder, 'no', 'a.png')), 'ERR_TRT_FILE', ['a.png', 'there is no folder']],
    [() => writeImage(picture, out, { quality: 200 }), argument, ['quality', '200']],
    [() => writeImage(picture, out, { force: true }), argument, ['"force" for writeImage', 'overwrite']],
    [() => encodeImage(picture), argument, ["'jpeg'", 'format', 'undefined']],
    [() => encodeImage(picture, 'jpg'), argument, ["'jpeg'", '"jpg"']],
    [() => encodeImage(picture, 'image/png'), argument, ["'png'", '"image/png"']],
    [() => encodeImage(picture, { format: 'png' }), argument, ["'png'", 'Object']],
    [() => encodeImage(picture, 'jpeg', 90), argument, ['the options of encodeImage', 'number 90']],
    [() => encodeImage(picture, 'jpeg', { qualty: 90 }), argument, ['did you mean quality?']],
    [() => pictures(), argument, ['undefined']],
    [() => pictures('photos/*.jpg'), 'ERR_TRT_FILE', ['photos/*.jpg']],
    [() => pictures([5]), argument, ['number 5']],
    [() => pictures('photos', { onError: true }), argument, ['a function', 'onError', 'true']],
    [() => pictures('photos', { onSkip: [] }), argument, ['a function', 'onSkip']],
    [() => pictureFiles(join(folder, 'none')), 'ERR_TRT_FILE', ['none', 'no such']],
    [() => pictureFiles(5), argument, ['a path', 'number 5']],
  ]
}

const tensors: Room = () => {
  const { toTensor, toTensorSync, letterbox, stretch, centerCrop, crop, rotatedCrop, alignedCrop, batchesOf } = vision
  const frame = typed.letterbox(picture, 8)
  return [
    [() => toTensor(), argument, ['undefined']],
    [() => toTensor(picture), argument, ['frame', 'undefined']],
    [() => toTensor(picture, 224), argument, ['frame', 'number 224']],
    [() => toTensor(picture, { width: 8, height: 8 }), argument, ['frame', 'Object']],
    [() => toTensor([picture, picture], [frame]), argument, ['2', '1']],
    [() => toTensor('cat.jpg', frame), 'ERR_TRT_FILE', ['cat.jpg', 'no such file']],
    [() => toTensor(Promise.resolve(picture), frame), argument, ['a Promise: await it']],
    [() => toTensor(picture, typed.letterbox(noise(9, 9), 8)), argument, ['8 x 6', '9 x 9']],
    [() => toTensor(picture, frame, { channels: 'BGR' }), argument, ['"channels" for toTensor', 'order']],
    [() => toTensor(picture, frame, { order: 'GBR' }), argument, ["'RGB', 'BGR'", '"GBR"']],
    [() => toTensor(picture, frame, { range: 255 }), argument, ['range', 'number 255']],
    [() => toTensor(picture, frame, { normalize: true }), argument, ['"normalize" for toTensor']],
    [() => toTensor(picture, frame, { mean: [0.5, 0.5] }), argument, ['mean', 'array [0.5, 0.5]']],
    [() => toTensor(picture, frame, { std: 0 }), argument, ['numbers other than 0', 'std']],
    [() => toTensor(picture, frame, { dtype: 'fp16' }), argument, ['float16', '"fp16"']],
    [() => toTensor(picture, frame, { dtype: 'int8' }), argument, ['dtype', '"int8"']],
    [() => toTensor(picture, frame, { layout: 'CHW' }), argument, ["'NCHW'", '"CHW"']],
    [() => toTensor(picture, frame, { filter: 'bilinear' }), argument, ["'linear'", '"bilinear"']],
    [() => toTensor(picture, frame, { into: new Float32Array(192) }), argument, ['into', 'Float32Array']],
    [
      () => toTensor(picture, frame, { into: Tensor.zeros('float32', [1, 3, 9, 9]) }),
      'ERR_TRT_SHAPE',
      ['[1, 3, 9, 9]'],
    ],
    [() => toTensorSync('cat.jpg', frame), argument, ['string']],
    [() => letterbox(picture), argument, ['size', 'undefined']],
    [() => letterbox(640, picture), argument, ['number 640']],
    [() => letterbox(picture, '640'), argument, ['size', '"640"']],
    [() => letterbox(picture, [640, 640]), argument, ['size', 'array [640, 640]']],
    [() => letterbox(picture, 640, { color: 114 }), argument, ['"color" for letterbox', 'fill']],
    [() => letterbox(picture, 640, { fill: 300 }), argument, ['fill', '300']],
    [() => stretch(picture, 0), argument, ['size', 'number 0']],
    [() => centerCrop(picture, 224, { resize: '256' }), argument, ['resize', '"256"']],
    [() => crop(picture, { x: 0, y: 0, width: 4, height: 4 }, 4), argument, ['box', 'Object']],
    [() => crop(picture, [0, 0, 4], 4), argument, ['box', 'array [0, 0, 4]']],
    [() => rotatedCrop(picture, [0, 0, 4, 4], '30', 4), argument, ['"30"']],
    [() => alignedCrop(picture, [[1, 1]], [[1, 1]], 4), argument, ['points']],
    [() => batchesOf(), argument, ['undefined']],
    [() => batchesOf([picture], 'tensor'), argument, ['a function', '"tensor"']],
    [() => batchesOf([picture], () => Tensor.zeros('float32', [1]), 8), argument, ['the options of', 'number 8']],
  ]
}

const answers: Room = () => {
  const { suppress, nonMaxSuppression, topK, softmax, decodeYolo, decodeGrid, intersectionOverUnion } = vision
  const scores = Float32Array.of(0.5)
  const boxes = Float32Array.of(1, 1, 2, 2)
  const output = Tensor.zeros('float32', [1, 84, 21])
  return [
    [() => suppress(), argument, ['candidates', 'undefined']],
    [() => suppress([{ box: [1, 1, 2, 2], score: 1 }]), argument, ['candidates', 'array of 1']],
    [() => suppress({ boxes, scores: [0.5] }), argument, ['a Float32Array', 'scores', 'array [0.5]']],
    [() => suppress({ boxes: [[1, 1, 2, 2]], scores }), argument, ['a Float32Array', 'boxes']],
    [() => suppress({ boxes, scores: new Float32Array(2) }), argument, ['boxes', '8', '4']],
    [() => suppress({ boxes, scores }, { iou: 0.5 }), argument, ['iouThreshold is its name']],
    [() => suppress({ boxes, scores }, { threshold: 0.5 }), argument, ['scoreThreshold']],
    [() => suppress({ boxes, scores }, { iouThreshold: 45 }), argument, ['iouThreshold', '45']],
    [() => suppress({ boxes, scores }, { method: 'soft' }), argument, ["'soft-linear'", '"soft"']],
    [() => suppress({ boxes, scores }, 0.5), argument, ['the options of suppress', 'number 0.5']],
    [() => suppress({ boxes, scores }, { max: 100 }), argument, ['did you mean maximum?']],
    [() => suppress({ boxes, scores, format: 'cxcywh' }), argument, ["'xywh' or 'xyxy'", '"cxcywh"']],
    [() => nonMaxSuppression(), argument, ['undefined']],
    [() => nonMaxSuppression([[1, 1, 2, 2]]), argument, ['array [1, 1, 2, 2]']],
    [() => nonMaxSuppression([{ box: [1, 1, 2, 2] }]), argument, ['score', 'undefined']],
    [() => nonMaxSuppression([{ box: { x: 1 }, score: 1 }]), argument, ['box', 'Object']],
    [() => intersectionOverUnion([1, 1, 2, 2]), argument, ['undefined']],
    [() => topK(), argument, ['undefined']],
    [() => topK({ scores: Tensor.zeros('float32', [3]) }, 1), argument, ['scores but received', 'outputs.scores']],
    [() => topK([0.1, 0.9], 1), argument, ['a Float32Array', 'scores', 'array [0.1, 0.9]']],
    [() => topK(scores), argument, ['k', 'undefined']],
    [() => topK(scores, { k: 5 }), argument, ['k', 'Object']],
    [() => topK(scores, 1, ['cat']), argument, ['the options of topK', 'array of 1']],
    [() => topK(scores, 1, { labels: 'imagenet' }), argument, ['labels', '"imagenet"']],
    [() => softmax([1, 2]), argument, ['a Float32Array', 'array [1, 2]']],
    [() => softmax({ output }), argument, ['Object']],
    [() => decodeYolo(), argument, ['undefined']],
    [() => decodeYolo(output, { conf: 0.5 }), argument, ['scoreThreshold is its name']],
    [() => decodeYolo(output, { scoreThreshold: 50, size: 32 }), argument, ['scoreThreshold', '50']],
    [
      () => decodeYolo(Tensor.zeros('float32', [84, 21]), { size: 32, scoreThreshold: 0.5 }),
      'ERR_TRT_SHAPE',
      ['[84, 21]'],
    ],
    [() => decodeGrid(output, {}), argument, ['undefined']],
  ]
}

const painting: Room = () => {
  const { drawBoxes, drawPolygons, overlay, blurRegions, blurMask, cutOut, toMask, maskIoU, polygons } = vision
  const { connectedComponents, instanceMasks } = vision
  const mask = { width: 8, height: 6, data: new Uint8Array(48) }
  const other = { width: 4, height: 4, data: new Uint8Array(16) }
  const box = { box: [1, 1, 3, 3] }
  return [
    [() => drawBoxes(), argument, ['undefined']],
    [() => drawBoxes(picture), argument, ['boxes', 'undefined']],
    [() => drawBoxes(picture, [[1, 1, 3, 3]]), argument, ['boxes[0]', 'array [1, 1, 3, 3]']],
    [() => drawBoxes(picture, box), argument, ['boxes', 'Object']],
    [() => drawBoxes(picture, [{ x: 1, y: 1, width: 2, height: 2 }]), argument, ['boxes[0].box', 'undefined']],
    [() => drawBoxes(picture, Promise.resolve([box])), argument, ['a Promise: await it']],
    [() => drawBoxes(picture, [box], { color: 'red' }), argument, ['color', '"red"']],
    [() => drawBoxes(picture, [box], { color: [1, 0, 300] }), argument, ['from 0 to 255', 'color', '300']],
    [() => drawBoxes(picture, [box], { width: 2 }), argument, ['lineWidth is its name']],
    [() => drawBoxes(picture, [box], { thickness: 2 }), argument, ['"thickness" for drawBoxes', 'lineWidth']],
    [() => drawBoxes(picture, [{ ...box, label: 5 }]), argument, ['label', 'number 5']],
    [() => drawBoxes('a.jpg', [box], { inPlace: true }), argument, ['not painted in place', '"a.jpg"']],
    [() => drawPolygons(picture, [1, 2]), argument, ['number 1']],
    [() => overlay(picture), argument, ['mask', 'undefined']],
    [() => overlay(picture, mask.data), argument, ['mask', 'received Uint8Array']],
    [() => overlay(picture, other), argument, ['8 x 6', '4 x 4']],
    [() => overlay(picture, mask, { alpha: 0.5 }), argument, ['"alpha" for overlay', 'opacity']],
    [() => overlay(picture, mask, { opacity: 50 }), argument, ['from 0 to 1', 'opacity', '50']],
    [() => overlay(picture, mask, { palette: 'viridis' }), argument, ['palette', '"viridis"']],
    [() => blurRegions(picture), argument, ['undefined']],
    [() => blurRegions(picture, [box]), argument, ['Object']],
    [() => blurRegions(picture, [[1, 1, 3]]), argument, ['array [1, 1, 3]']],
    [() => blurRegions(picture, [[1, 1, 3, 3]], { radius: 5 }), argument, ['"radius" for blurRegions', 'strength']],
    [() => blurRegions(picture, [[1, 1, 3, 3]], { strength: 50 }), argument, ['strength', '50']],
    [() => blurRegions(picture, [[1, 1, 3, 3]], { method: 'gaussian' }), argument, ["'blur'", '"gaussian"']],
    [
      () => blurRegions(picture, [[1, 1, 3, 3]], { shape: 'circle' }),
      argument,
      ["'ellipse' or 'rectangle'", '"circle"'],
    ],
    [() => blurMask(picture, other), argument, ['8 x 6', '4 x 4']],
    [() => cutOut(picture, mask, { background: 'white' }), argument, ['background', '"white"']],
    [() => toMask(), argument, ['undefined']],
    [() => toMask(Tensor.zeros('float32', [1, 2, 8, 8])), argument, ['undefined']],
    [() => toMask(Tensor.zeros('float32', [8, 8]), typed.letterbox(picture, 8)), 'ERR_TRT_SHAPE', ['[8, 8]']],
    [() => maskIoU(mask, other), argument, ['8', '4']],
    [() => maskIoU(mask), argument, ['undefined']],
    [() => polygons(picture), argument, ['data', '48', '144']],
    [() => polygons(mask, { tolerence: 1 }), argument, ['did you mean tolerance?']],
    [() => connectedComponents(mask, { connectivity: 6 }), argument, ['8 or 4', '6']],
    [() => instanceMasks(), argument, ['undefined']],
  ]
}

export const visionRooms: readonly Room[] = [reading, tensors, answers, painting]
