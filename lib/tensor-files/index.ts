export { readTensor, readTensors, type ReadTensorOptions, type ReadTensorsOptions, type TensorSource } from './read.js'
export type { TensorFormat, TensorSpec } from './types.js'
export { writeTensor, writeTensors, type WriteTensorOptions } from './write.js'
