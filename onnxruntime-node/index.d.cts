export * from 'node-tensorrt/onnxruntime'
