// Tasks: loading with presets and options, and calls with pictures.
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { Engine, Tensor } from '../../lib/index.js'
import * as typed from '../../lib/tasks/index.js'
import { reluModel } from '../support/models.js'
import { answering, colours, filled } from '../tasks/models.js'
import { noise } from '../vision/helpers.js'
import { encodeImage } from '../../lib/vision/index.js'
import { argument, type Room, wrongly } from './table.js'

/** Their constructors are not public, which hides their static methods from `wrongly`. */
interface Loading {
  load(...parameters: unknown[]): Promise<unknown>
}
const { Classifier, Detector, FaceBlur, Segmenter } = typed as Record<keyof typeof typed, unknown> as Readonly<
  Record<'Classifier' | 'Detector' | 'FaceBlur' | 'Segmenter', Loading>
>
const presetBatches = typed.presetBatches as (...parameters: unknown[]) => unknown
const cpu = { backend: 'cpu', cpu: { threads: 1 } } as const
const yolo = answering([filled([1, 6, 84], [[[0, 4, 3], 0.9]])])
const mask = answering([filled([1, 1, 8, 8], [[[0, 0, 3, 3], 1]])])

const loads: Room = async ({ folder, use }) => {
  const closed = await Engine.load(colours(), cpu)
  await closed.close()
  const engine = use(await Engine.load(colours(), cpu))
  const names = join(folder, 'names.txt')
  writeFileSync(names, 'cat\ndog\n')
  const detect = (options?: object): unknown => Detector.load(yolo, { ...cpu, ...options })
  const classify = (options?: object): unknown => Classifier.load(colours(), { ...cpu, ...options })
  return [
    [() => Classifier.load(undefined, { preset: 'imagenet' }), argument, ['for source', 'undefined']],
    [() => Classifier.load('nope.onnx', { preset: 'imagenet' }), 'ERR_TRT_FILE', ['nope.onnx', 'no such file']],
    [() => Classifier.load(engine, 'imagenet'), argument, ['the options of Classifier', '"imagenet"']],
    [() => Classifier.load(colours(), cpu), argument, ['a preset', "'softmax'", 'undefined']],
    [() => Classifier.load(closed, { preset: 'imagenet' }), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => Classifier.load(engine, { preset: 'imagenet', lanes: 2 }), argument, ['an Engine that is given', '"lanes"']],
    [() => Classifier.load(engine, { preset: 'imagenet', ...cpu }), argument, ['an Engine that is given', '"backend"']],
    [() => classify({ preset: 'imagnet' }), argument, ["did you mean 'imagenet'?"]],
    [() => classify({ preset: 'resnet50' }), argument, ["Classifier's presets", '"resnet50"']],
    [() => classify({ preset: 'yolov8' }), argument, ["task is 'classify' and not 'detect'", '"yolov8"']],
    [() => classify({ preset: 5 }), argument, ['a preset, or the name of one', 'number 5']],
    [() => classify({ preset: {} }), argument, ["a preset whose task is 'classify'", 'undefined']],
    [() => classify({ preset: { task: 'classify' } }), argument, ['preset.input', 'undefined']],
    [() => classify({ preset: 'imagenet', labels: 'names' }), 'ERR_TRT_FILE', ['names', 'no such file']],
    [() => classify({ preset: 'imagenet', labels: ['cat', 'dog'] }), 'ERR_TRT_SHAPE', ['labels', '3', '2']],
    [() => classify({ preset: 'imagenet', labels: names }), 'ERR_TRT_SHAPE', ['labels', '3', '2']],
    [() => classify({ preset: 'imagenet', labels: { 0: 'cat' } }), argument, ['labels', 'Object']],
    [() => classify({ preset: 'imagenet', top: 0 }), argument, ['top', 'number 0']],
    [() => classify({ preset: 'imagenet', topK: 5 }), argument, ['did you mean top?']],
    [() => classify({ preset: 'imagenet', k: 5 }), argument, ['"k" for Classifier']],
    [
      () => classify({ preset: 'imagenet', activation: 'softmax' }),
      argument,
      ['"activation" for Classifier', 'output'],
    ],
    [() => classify({ preset: 'imagenet', mean: [0, 0, 0] }), argument, ['"mean" for Classifier', 'input']],
    [() => classify({ preset: 'imagenet', size: 224 }), argument, ['input: { size } is its place']],
    [() => classify({ preset: 'imagenet', imgsz: 224 }), argument, ['input: { size } is its place']],
    [() => classify({ preset: 'imagenet', device: 0 }), argument, ['did you mean tensorrt.device?']],
    [() => classify({ preset: 'imagenet', half: true }), argument, ["builder: { precision: 'fp16' }"]],
    [() => classify({ preset: 'imagenet', executionProviders: ['cuda'] }), argument, ["backend: 'tensorrt', 'cpu'"]],
    [() => classify({ preset: 'imagenet', input: { sizes: 224 } }), argument, ['did you mean size?']],
    [() => classify({ preset: 'imagenet', input: { size: '224x224' } }), argument, ['size', '"224x224"']],
    [() => classify({ preset: 'imagenet', input: { size: 320 } }), argument, ['8 x 8', 'input.size', '320']],
    [() => classify({ preset: 'imagenet', input: { resize: 'crop' } }), argument, ['resize', '"crop"']],
    [() => classify({ preset: 'imagenet', input: { mean: 'imagenet' } }), argument, ['mean', '"imagenet"']],
    [() => classify({ preset: 'imagenet', input: { layout: 'HWC' } }), argument, ["'NCHW'", 'layout', '"HWC"']],
    [() => classify({ preset: 'imagenet', inFlight: 0 }), argument, ['inFlight', 'number 0']],
    [() => Classifier.load(reluModel(), { preset: 'imagenet', ...cpu }), 'ERR_TRT_SHAPE', ['x', '[1, 4]']],
    [() => Detector.load(yolo, cpu), argument, ['own (presets: yolov5', 'centerface', 'yolov11', 'for preset']],
    [() => detect({ output: { decoder: 'yolo' } }), argument, ['a preset, or input', 'for input']],
    [() => detect({ input: {} }), argument, ['a preset, or input', 'output.decoder']],
    [() => detect({ input: {}, output: { decoder: 'yolov8' } }), argument, ["'yolo'", 'output.decoder', '"yolov8"']],
    [() => detect({ preset: 'yolo' }), argument, ["Detector's presets", 'yolox']],
    [() => detect({ preset: 'yolov13' }), argument, ["Detector's presets", 'yolov10']],
    [() => detect({ preset: 'YOLOv8' }), argument, ["'yolov8', as 'YOLOv8' is called here"]],
    [() => detect({ preset: 'u2net' }), argument, ["task is 'detect' and not 'segment'"]],
    [() => detect({ preset: 'retinaface' }), 'ERR_TRT_SHAPE', ['the preset retinaface', '[1, 6, 84]']],
    [() => detect({ preset: 'yolov8', conf: 0.5 }), argument, ['scoreThreshold is its name']],
    [() => detect({ preset: 'yolov8', threshold: 0.5 }), argument, ['scoreThreshold is its name']],
    [() => detect({ preset: 'yolov8', iou: 0.5 }), argument, ['{ iouThreshold }']],
    [() => detect({ preset: 'yolov8', scoreThreshold: 50 }), argument, ['from 0 to 1', 'scoreThreshold', '50']],
    [() => detect({ preset: 'yolov8', scoreThreshold: '50%' }), argument, ['scoreThreshold', '"50%"']],
    [() => detect({ preset: 'yolov8', suppress: true }), argument, ['suppress', 'true']],
    [() => detect({ preset: 'yolov8', suppress: { iou: 0.5 } }), argument, ['iouThreshold is its name']],
    [() => detect({ preset: 'yolov8', suppress: { iouThreshold: 50 } }), argument, ['iouThreshold', '50']],
    [() => detect({ preset: 'yolov8', classes: 80 }), argument, ['"classes" for Detector', 'output']],
    [() => detect({ preset: 'yolov8', nms: false }), argument, ['"nms" for Detector', 'suppress']],
    [() => Segmenter.load(mask, cpu), argument, ['own (presets: ', 'unet', 'for preset']],
    [() => Segmenter.load(mask, { ...cpu, preset: 'yolov8' }), argument, ["task is 'segment' and not 'detect'"]],
    [() => Segmenter.load(mask, { ...cpu, preset: 'u2net', threshold: 0.5 }), argument, ['"threshold" for Segmenter']],
    [
      () => Segmenter.load(mask, { ...cpu, preset: 'u2net', output: { decide: 'max' } }),
      argument,
      ["'matte'", 'decide', '"max"'],
    ],
    [() => FaceBlur.load(yolo, cpu), argument, ['a preset, or input and output of your own', 'for preset']],
    [() => FaceBlur.load(yolo, { ...cpu, preset: 'imagenet' }), argument, ["'detect'", "'classify'"]],
    [() => FaceBlur.load(yolo, { ...cpu, preset: 'yolov8', blurr: {} }), argument, ['did you mean blur?']],
    [() => FaceBlur.load(yolo, { ...cpu, preset: 'yolov8', blur: true }), argument, ['blur', 'true']],
    [() => FaceBlur.load(yolo, { ...cpu, preset: 'yolov8', blur: { radius: 5 } }), argument, ['"blur.radius"']],
    [
      () => FaceBlur.load(yolo, { ...cpu, preset: 'yolov8', grow: 1.3 }),
      argument,
      ['"grow" for FaceBlur', 'blur.grow'],
    ],
    [
      () => FaceBlur.load(yolo, { ...cpu, preset: 'centerface', method: 'fill' }),
      argument,
      ['"method"', 'blur.method'],
    ],
    [() => Detector.load(yolo, { ...cpu, preset: 'yolov8', maxSide: 640 }), argument, ['"maxSide"', 'input.maxSide']],
    [
      () => Detector.load(yolo, { ...cpu, preset: 'yolov8', labels: 'red,green' }),
      'ERR_TRT_FILE',
      ["labels: ['red', 'green']", 'red,green'],
    ],
    [
      () => FaceBlur.load(yolo, { ...cpu, preset: 'yolov8', blur: { method: 'gauss' } }),
      argument,
      ["'blur', 'pixelate', 'fill'", '"gauss"'],
    ],
  ]
}

const calls: Room = async ({ folder, use }) => {
  const classifier = wrongly(use(await typed.Classifier.load(colours(), { ...cpu, preset: 'imagenet' })))
  const detector = wrongly(use(await typed.Detector.load(yolo, { ...cpu, preset: 'yolov8' })))
  const segmenter = wrongly(use(await typed.Segmenter.load(mask, { ...cpu, preset: 'u2net' })))
  const faces = wrongly(use(await typed.FaceBlur.load(yolo, { ...cpu, preset: 'yolov8' })))
  const closed = wrongly(await typed.Detector.load(yolo, { ...cpu, preset: 'yolov8' }))
  await closed.close()
  const picture = noise(20, 10)
  const file = join(folder, 'a.jpg')
  writeFileSync(file, await encodeImage(picture, 'jpeg'))
  const text = join(folder, 'text.jpg')
  writeFileSync(text, 'no picture')
  const moved = noise(20, 10)
  structuredClone(moved.data, { transfer: [moved.data.buffer as ArrayBuffer] })
  return [
    [() => detector.detect(), argument, ['picture', 'undefined']],
    [() => detector.detect(null), argument, ['picture', 'null']],
    [() => detector.detect(5), argument, ['picture', 'number 5']],
    [() => detector.detect('cat.jpg'), 'ERR_TRT_FILE', ['cat.jpg', 'no such file']],
    [() => detector.detect(''), argument, ['""']],
    [() => detector.detect(folder), 'ERR_TRT_FILE', ['is a folder']],
    [() => detector.detect(text), 'ERR_TRT_IMAGE', ['text.jpg']],
    [() => detector.detect(Buffer.from('no picture')), 'ERR_TRT_IMAGE', ['picture']],
    [() => detector.detect('https://example.com/cat.jpg'), argument, ['download it first']],
    [() => detector.detect(new URL('https://example.com/cat.jpg')), argument, ['download it first']],
    [() => detector.detect('data:image/png;base64,iVBORw0KGgo='), argument, ['data: URL', 'Buffer']],
    [() => detector.detect('iVBORw0KGgo'.repeat(40)), argument, ['base64', 'Buffer']],
    [() => detector.detect(createReadStream(file).on('error', () => {})), argument, ['stream', 'Buffer']],
    [() => detector.detect(new Blob([]).stream()), argument, ['stream', 'Buffer']],
    [() => detector.detect(sharp(file)), argument, ['Sharp', 'toBuffer()']],
    [() => detector.detect(Promise.resolve(picture)), argument, ['a Promise: await it']],
    [() => detector.detect([Promise.resolve(picture)]), argument, ['a Promise: await it']],
    [() => detector.detect(Tensor.zeros('float32', [1, 3, 64, 64])), argument, ['picture', 'Tensor']],
    [() => detector.detect(new Float32Array(600)), argument, ['picture', 'Float32Array']],
    [() => detector.detect({}), argument, ['picture', 'width']],
    [() => detector.detect({ path: file }), argument, ['picture', 'width']],
    [() => detector.detect({ ...picture, channels: 4 }), argument, ['800 bytes', 'picture.data', '600']],
    [() => detector.detect({ ...picture, width: 0 }), argument, ['width', 'number 0']],
    [() => detector.detect({ ...picture, width: 21 }), argument, ['data', '630', '600']],
    [() => detector.detect({ ...picture, data: [...picture.data] }), argument, ['data', 'array of 600']],
    [() => detector.detect(moved), 'ERR_TRT_DETACHED', ['transferred away']],
    [() => detector.detect(picture, 0.5), argument, ['the options of', 'number 0.5']],
    [() => detector.detect(picture, { conf: 0.5 }), argument, ['scoreThreshold is its name']],
    [() => detector.detect(picture, { threshold: 0.5 }), argument, ['scoreThreshold is its name']],
    [() => detector.detect(picture, { scoreThreshold: 2 }), argument, ['from 0 to 1', 'scoreThreshold', '2']],
    [() => detector.detect(picture, { iou: 0.5 }), argument, ['iouThreshold is its name']],
    [() => detector.detect(picture, { top: 5 }), argument, ['"top" for detect']],
    [() => detector.detect(picture, { preset: 'yolov8' }), argument, ['"preset" for detect']],
    [() => detector.detect(picture, { timeoutMs: 5 }), argument, ['"timeoutMs" for detect']],
    [() => detector.detect(picture, { signal: new AbortController() }), argument, ['an AbortSignal']],
    [() => detector.detect([picture, 'nope.jpg']), 'ERR_TRT_FILE', ['nope.jpg']],
    [() => detector.detect([picture, undefined]), argument, ['picture', 'undefined']],
    [() => classifier.classify(), argument, ['picture', 'undefined']],
    [() => classifier.classify(picture, 5), argument, ['the options of', 'number 5']],
    [() => classifier.classify(picture, { top: 0 }), argument, ['top', 'number 0']],
    [() => classifier.classify(picture, { k: 5 }), argument, ['"k" for classify']],
    [() => classifier.classify(picture, { scoreThreshold: 0.5 }), argument, ['"scoreThreshold" for classify']],
    [() => classifier.classify(picture, { labels: ['a'] }), 'ERR_TRT_SHAPE', ['labels', '3', '1']],
    [() => segmenter.segment(picture, { scoreThreshold: 0.5 }), argument, ['did you mean threshold?']],
    [() => segmenter.segment(picture, { threshold: 'high' }), argument, ['threshold', '"high"']],
    [() => segmenter.matte(), argument, ['picture', 'undefined']],
    [() => faces.blur(), argument, ['picture', 'undefined']],
    [() => faces.blur(picture, { grow: 2 }), argument, ['"grow" for blur']],
    [() => faces.blur(picture, { method: 'fill' }), argument, ['"method" for blur']],
    [() => closed.detect(picture), 'ERR_TRT_CLOSED', ['closed']],
    [() => closed.detect([picture]), 'ERR_TRT_CLOSED', ['closed']],
    [() => detector.detectVideo(), argument, ['undefined']],
    [() => detector.detectVideo(5), argument, ['number 5']],
    [() => detector.detectVideo('in.mp4', { fps: 5 }), argument, ['"fps" for']],
    [() => detector.detect(picture, { labels: ['a'] }), 'ERR_TRT_SHAPE', ['labels names 1 classes']],
    [() => faces.blur(file, { inPlace: true }), argument, ['not painted in place']],
    [() => faces.blurVideo('in.mp4'), argument, ['target', 'undefined']],
    [() => new (Classifier as never as new (model: string) => unknown)('m.onnx'), argument, ['await Classifier.load']],
    [() => new (FaceBlur as never as new () => unknown)(), argument, ['await FaceBlur.load']],
    [() => presetBatches(), argument, ['info', 'undefined']],
    [() => presetBatches([picture], { x: [1, 3, 8, 8] }), argument, ['{ name, dtype, shape }', 'info']],
    [() => faces.blurVideo('in.mp4', 'out.txt'), argument, ['.mp4', 'out.txt']],
  ]
}

export const taskRooms: readonly Room[] = [loads, calls]
