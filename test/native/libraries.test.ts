// Which of two TensorRT libraries a process takes, and that it loads no other. libraries.slow.test.ts has what else
// decides.
import { join } from 'node:path'
import t from 'tap'
import type { Capabilities } from '../../lib/index.js'
import { both, fakes, folderWith, root, run, versions } from './libraries.js'

for (const family of [10, 11] as const) {
  t.test(`a plan of ${family}, where 10 and 11 can be found`, async (t) => {
    const path = { 10: fakes.trt10, 11: fakes.trt11 }[family]
    const outcome = await run({ open: versions[family].split('.').map(Number) }, { LD_LIBRARY_PATH: both })
    t.equal(outcome.result, `TensorRT ${versions[family]} on GPU 0`)
    t.same(outcome.mapped, [join(path, `libnvinfer.so.${family}`)], 'one is loaded')
  })
}

t.test('a build loads the library that builds', async (t) => {
  const outcome = await run('build', { LD_LIBRARY_PATH: both })
  t.equal(outcome.result, 'TensorRT 11.4.0')
  t.same(outcome.mapped, [join(fakes.trt11, 'libnvinfer.so.11')])
})

t.test('what is there is listed, and nothing is loaded', async (t) => {
  const folders = [folderWith('list-10', versions[10]), folderWith('list-11', versions[11])]
  const outcome = await run('list', { LD_LIBRARY_PATH: folders.join(':') })
  const list = (outcome.result as Capabilities).tensorrt.filter(({ path }) => path.startsWith(root))
  t.match(
    list.map(({ version, kind, foundBy, canBuild, canRun, parser }) => [
      version,
      kind,
      foundBy,
      canBuild,
      canRun,
      parser,
    ]),
    [
      ['11.4.0', 'full', 'loader', true, true, join(root, 'list-11', 'libnvonnxparser.so.11')],
      ['10.15.1', 'full', 'loader', true, true, join(root, 'list-10', 'libnvonnxparser.so.10')],
    ],
  )
  t.same(outcome.mapped, [])
})
