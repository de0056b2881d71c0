require('./node-version.cjs')
module.exports = require('../dist/lib/benchmark/index.js')
