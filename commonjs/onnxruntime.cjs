require('./node-version.cjs')
module.exports = require('../dist/lib/onnxruntime/required.js')
