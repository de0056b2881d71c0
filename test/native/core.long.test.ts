// The execution core without Node, on the fakes: its C++ cases, for both families, and for TensorRT-RTX those of what
// only it has.
import t from 'tap'
import { buildFakes } from '../fake/build.js'
import { buildCases, runCases } from './cases.js'

t.setTimeout(900_000) // it compiles the fakes and the core first, on a machine that may be busy
const fakes = await buildFakes()
const program = await buildCases('core')

// the queue is one for both families
for (const [family, path, histories] of [
  ['TensorRT 10', fakes.trt10, { CORE_TEST_HISTORIES: '20000' }],
  ['TensorRT 11', fakes.trt11, {}],
] as const) {
  t.test(`the core on ${family}`, { timeout: 420_000 }, async (t) => {
    await runCases(t, program, [path], { NODE_TENSORRT_LIBCUDA: fakes.cuda, ...histories })
  })
}

t.test('the core on TensorRT-RTX', { timeout: 420_000 }, async (t) => {
  for (const part of ['rtx: ', 'faults: TensorRT'])
    await runCases(t, program, [fakes.rtx17, part], { NODE_TENSORRT_LIBCUDA: fakes.cuda })
})
