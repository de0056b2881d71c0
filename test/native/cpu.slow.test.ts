// The execution core without Node, on the real onnxruntime: its C++ cases.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { buildCases, runCases } from './cases.js'

t.setTimeout(600_000) // it compiles the core first, on a machine that may be busy
const manifest = createRequire(import.meta.url).resolve('onnxruntime-node/package.json')
const library = join(dirname(manifest), 'bin', 'napi-v6', 'linux', process.arch, 'libonnxruntime.so.1')
const program = await buildCases('cpu')

t.test('the core on onnxruntime', { timeout: 180_000 }, async (t) => {
  await runCases(t, program, [library])
})
