require('./node-version.cjs')
module.exports = require('../dist/lib/index.js')
