require('./node-version.cjs')
module.exports = require('../dist/lib/tasks/index.js')
