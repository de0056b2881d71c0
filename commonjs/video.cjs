require('./node-version.cjs')
module.exports = require('../dist/lib/video/index.js')
