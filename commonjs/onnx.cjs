require('./node-version.cjs')
module.exports = require('../dist/lib/onnx/index.js')
