// The rooms of the public API, with the tables of their mistakes.
import { building } from './building.js'
import { cliRooms } from './cli.js'
import { engineCalls } from './engine-calls.js'
import { engineLoad } from './engine-load.js'
import { onnxRooms } from './onnx.js'
import { ortTensorRT } from './onnxruntime-tensorrt.js'
import { quantizing } from './quantizing.js'
import { servingRooms } from './serving.js'
import type { Room } from './table.js'
import { taskRooms } from './tasks.js'
import { tensorRooms } from './tensors.js'
import { videoRooms } from './video.js'
import { visionRooms } from './vision.js'

export const rooms: Readonly<Record<string, readonly Room[]>> = {
  'Engine.load and attach': engineLoad,
  'calls of an engine': engineCalls,
  'tensors and their files': tensorRooms,
  'Builder, Plan, Refitter, EngineCache, capabilities and inspect': building,
  'calibration, quantize and compare': quantizing,
  onnx: onnxRooms,
  'the provider tensorrt of node-tensorrt/onnxruntime': [ortTensorRT],
  tasks: taskRooms,
  vision: visionRooms,
  video: videoRooms,
  'clients and servers': servingRooms,
  'the command line': cliRooms,
}
