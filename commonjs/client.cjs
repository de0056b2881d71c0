require('./node-version.cjs')
module.exports = require('../dist/lib/client/index.js')
