// What lib/disposal.ts checks for `import`: a Node that cannot require ES modules would say only that.
const { versions } = require('node:process')

const [major = 0, minor = 0] = versions.node.split('.').map(Number)
const isSupported = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)
if (!isSupported)
  throw new Error(
    `node-tensorrt needs Node.js 20.19 or newer (from 22 on: 22.12 or newer), but this is Node.js ${versions.node}`,
  )
