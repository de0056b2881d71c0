require('./node-version.cjs')
module.exports = require('../dist/lib/quantization/index.js')
