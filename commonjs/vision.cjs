require('./node-version.cjs')
module.exports = require('../dist/lib/vision/index.js')
