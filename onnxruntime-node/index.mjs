export * from 'node-tensorrt/onnxruntime'
export * as default from 'node-tensorrt/onnxruntime'
