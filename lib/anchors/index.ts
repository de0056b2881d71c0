export { efficientDetAnchors, type EfficientDetAnchorOptions } from './efficientdet.js'
export { retinaFacePriors, type RetinaFacePriorOptions } from './retinaface.js'
export { cellsOf, yoloAnchors, yoloStrides, type LevelAnchors } from './yolo.js'
export type { Sides } from './size.js'
