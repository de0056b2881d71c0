// Which of several TensorRT libraries a process takes, and that it loads no other: each time in a process of its own,
// on copies of the fakes. What is plain of it is in libraries.test.ts.
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Capabilities } from '../../lib/index.js'
import { long } from '../support/tiers.js'
import { rtxPath, skipWithoutRtx } from '../support/tensorrt.js'
import { fakes, folderWith, root, run, versions } from './libraries.js'

t.setTimeout(180_000) // many processes, on a machine that may be busy
const families = long ? ([10, 11] as const) : ([11] as const)
for (const family of families) {
  const folder = folderWith(`only-${family}`, versions[family])
  t.test(`a version of ${family} that is older than the plan's is refused, and not loaded`, async (t) => {
    const newer = `${family}.99.0`
    const outcome = await run({ open: newer.split('.').map(Number) }, { TENSORRT_PATH: folder })
    t.match(outcome, {
      code: 'ERR_TRT_PLAN',
      message: `The plan was built by TensorRT ${newer}, but this machine has only TensorRT ${versions[family]} at ${folder}`,
    })
    t.same(outcome.mapped, [])
  })

  t.test(`the version of ${family} that built a plan is preferred, then a newer one`, async (t) => {
    const open = versions[family].split('.').map(Number)
    const older = folderWith(`older-${family}`, `${family}.0.1`)
    const newer = folderWith(`newer-${family}`, `${family}.98.0`)
    const paths = (...folders: string[]): string => folders.join(':')
    const file = (of: string, version: string): string => join(of, `libnvinfer.so.${version}`)
    t.same(
      (await run({ open }, { LD_LIBRARY_PATH: paths(older, folder) })).mapped,
      [],
      'of one name, the loader has the first alone',
    )
    symlinkSync(file(newer, `${family}.98.0`), file(older, `${family}.98.0`))
    symlinkSync(file(folder, versions[family]), file(older, versions[family]))
    t.same((await run({ open }, { TENSORRT_PATH: older })).mapped, [file(folder, versions[family])])
    const more = folderWith(`more-${family}`, `${family}.0.2`)
    symlinkSync(file(newer, `${family}.98.0`), file(more, `${family}.98.0`))
    // the fake says of itself that it is what built the plan, so that it runs
    const outcome = await run({ open }, { TENSORRT_PATH: more })
    t.same(outcome.mapped, [file(newer, `${family}.98.0`)])
    t.match(outcome.result, /on GPU 0/)
  })
}

const resource = (suffix: string): string => `libnvinfer_builder_resource${suffix}.so.10.15.1`

t.test("the builder's resources beside a library say for which GPUs it builds", async (t) => {
  const listed = async (folders: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Capabilities[]> =>
    (await run({ list: folders }, env)).result as Capabilities[]
  const folderOf = (suffixes: readonly string[]): string =>
    folderWith(`has${suffixes.length}${suffixes.join('')}`, versions[10], ...suffixes.map(resource))
  const [{ gpus } = { gpus: [] }] = await listed([folderOf([])])
  const gpu = gpus[0]?.computeCapability ?? ''
  const own = `_sm${gpu.replace('.', '')}`
  const major = Number(gpu.split('.')[0])
  const others = [`_sm${major + 1}0`, `_sm${major - 1}0`]
  const enough = [[''], [own], [`_sm${major}0`, '_win'], ['_ptx', own], ['_win']]
  const tooFew = [['_ptx'], others.slice(0, 1), ['_ptx', ...others]]
  const found = await listed([...enough, ...tooFew].map(folderOf))
  found.forEach(({ tensorrt }, i) => {
    const isEnough = i < enough.length
    t.match(tensorrt, [{ canBuild: isEnough, canRun: true }], JSON.stringify([...enough, ...tooFew][i]))
    const reason = new RegExp(`may not be able to build for the .* \\(compute capability ${gpu}\\)`)
    t.match(tensorrt[0]?.cannotBuild, isEnough ? undefined : reason)
  })
  const elsewhere = await listed([join(root, 'has1_ptx')], { LD_LIBRARY_PATH: join(root, `has1${own}`) })
  t.match(elsewhere[0]?.tensorrt, [{ canBuild: true }], 'the loader finds them elsewhere')
})

t.test(
  'auto takes the CPU where the resources are not there, and says so; who wants TensorRT has it tried',
  async (t) => {
    const folder = folderWith('ptx', versions[10], resource('_ptx'))
    const auto = await run({ load: { backend: 'auto' } }, { TENSORRT_PATH: folder })
    t.match(auto.result, {
      backend: 'cpu',
      reason: new RegExp(`TensorRT 10.15.1 at ${folder}/libnvinfer.* may not be able to build for .*What to do: `),
    })
    t.match(
      (await run({ load: { backend: 'tensorrt' } }, { TENSORRT_PATH: folder })).result,
      { backend: 'tensorrt' },
      'the fake needs none',
    )
    const other = folderWith('ptx-11', versions[11])
    t.match((await run('build', { LD_LIBRARY_PATH: `${folder}:${other}` })).result, 'TensorRT 11.4.0')
    t.match((await run('build', { TENSORRT_PATH: folder })).result, 'TensorRT 10.15.1')
  },
)

for (const family of families) {
  t.test(`${family} without the builder's resource for the GPU, which it says only when it builds`, async (t) => {
    const env = { TENSORRT_PATH: { 10: fakes.trt10, 11: fakes.trt11 }[family], FAKE_TRT_BUILDER_RESOURCE: 'missing' }
    const reason = /TensorRT 1\d\.\d+\.\d could not .*Unable to load library: libnvinfer_builder_resource_sm/
    const lack = { code: 'ERR_TRT_UNSUPPORTED', message: reason, details: { lacks: 'builderResource' } }
    t.match(await run('build', env), lack)
    t.match(await run({ load: { backend: 'tensorrt' } }, env), lack)
    t.match((await run({ load: {} }, env)).result, { backend: 'cpu', reason }, 'auto')
    t.match(
      (await run({ load: { tensorrt: { device: 0 } } }, env)).result,
      { backend: 'cpu', reason },
      'a group is no demand',
    )
  })
}

t.test(
  'TensorRT-RTX runs no plans on some GPUs, which is known before it is loaded',
  { skip: skipWithoutRtx },
  async (t) => {
    const env = (capability: string): NodeJS.ProcessEnv => ({
      TENSORRT_PATH: rtxPath ?? '',
      FAKE_CUDA_COMPUTE_CAPABILITY: capability,
    })
    for (const [capability, canRun] of [
      ...(long ? ([['7.5', false]] as const) : []),
      ['8.6', true],
      ['9.0', false],
    ] as const) {
      const { result, mapped } = await run('list', env(capability))
      t.match(
        (result as Capabilities).tensorrt,
        [{ kind: 'rtx', version: '1.7.1', canBuild: true, canRun }],
        capability,
      )
      t.same(mapped, [])
    }
    const reason = /TensorRT-RTX 1\.7\.1 runs no plans on the .* \(compute capability 9\.0\).*What to do: /
    t.match((await run({ load: {} }, env('9.0'))).result, { backend: 'cpu', reason })
  },
)
