require('./node-version.cjs')
module.exports = require('../dist/lib/onnxruntime/register.js')
