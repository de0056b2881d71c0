require('./node-version.cjs')
module.exports = require('../dist/lib/serve/index.js')
