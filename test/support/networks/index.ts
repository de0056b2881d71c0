/**
 * Seeded networks for tests, benches and examples, each with a function `modelOf(options)`: random weights of a fixed
 * seed, not trained. With `batchNorm: 'nodes'` initializers come in the order of the original's parameters (but
 * EfficientDet's necks and heads); with them, torchvision's mobilenet_v2, segmentation_models_pytorch's Unet and
 * effdet's tf_efficientdet_d1 gave the same answers to 4e-5. YOLOv8's and YOLOX's have their originals' names:
 * ultralytics' yolov8n-seg and YOLOX's own code gave the same answers with them to 1e-5 of the greatest. CenterFace
 * alone is a file of trained weights.
 */
export { anySizeCenterFace } from './centerface.js'
export * as efficientDet from './efficientdet.js'
export * as mobileNetV2 from './mobilenet-v2.js'
export type { ModelOptions } from './network.js'
export * as resnet50 from './resnet50.js'
export * as retinaFace from './retinaface.js'
export * as u2netp from './u2netp.js'
export * as unet from './unet.js'
export * as yoloV5 from './yolov5.js'
export * as yoloV8Seg from './yolov8-seg.js'
export * as yoloX from './yolox.js'
