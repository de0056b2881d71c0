// The execution core without Node, on the real onnxruntime: its C++ cases.
import t from 'tap'
import { packagedLibrary } from '../support/onnxruntime.js'
import { buildCases, runCases } from './cases.js'

t.setTimeout(600_000) // it compiles the core first, on a machine that may be busy
const program = await buildCases('cpu')

t.test('the core on onnxruntime', { timeout: 180_000 }, async (t) => {
  await runCases(t, program, [packagedLibrary])
})
