module.exports = require('node-tensorrt/onnxruntime')
