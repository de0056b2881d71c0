/** The architectures of the examples, each with a function `modelOf(options)`; weights are seeded, not trained. CenterFace alone is a file of trained ones. */
export { anySizeCenterFace } from './centerface.js'
export * as efficientDet from './efficientdet.js'
export * as mobileNetV2 from './mobilenet-v2.js'
export type { ModelOptions } from './network.js'
export * as retinaFace from './retinaface.js'
export * as u2netp from './u2netp.js'
export * as unet from './unet.js'
export * as yoloV5 from './yolov5.js'
