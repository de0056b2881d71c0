// Every bench once with --quick: it runs to its end, no part fails, and its counts are right.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { rowsOf } from '../../bench/support/parts.js'
import { packageRoot } from '../../lib/base/package.js'
import { runNode } from '../support/children.js'

const hasGpu = ['/dev/nvidia0', '/dev/nvidiactl', '/dev/dxg', '/dev/nvhost-gpu'].some((device) => existsSync(device))
const withoutGpu = hasGpu ? false : 'the bench needs an NVIDIA GPU'

function withoutPrograms(...names: string[]): string | false {
  const missing = names.filter((name) => {
    try {
      execFileSync('sh', ['-c', `command -v ${name}`])
      return false
    } catch {
      return true
    }
  })
  return missing.length > 0 && `the bench needs ${missing.join(' and ')}`
}

/** Why a bench is skipped here, and what it is called with. */
const benches: Readonly<Record<string, { readonly skip?: string | false; readonly args?: readonly string[] }>> = {
  builder: {},
  // two builds of the addon by node-gyp are enough
  builds: { args: ['core:calls'] },
  client: {},
  core: {},
  cpu: {},
  gpu: { skip: withoutGpu },
  loop: { skip: withoutGpu },
  ort: {},
  quantize: {},
  serve: { skip: withoutPrograms('wrk', 'h2load') },
  soak: {},
  tasks: {},
  trt: {},
  video: { skip: withoutPrograms('ffmpeg') },
  vision: {
    skip:
      process.env['TRT_BENCH_PYTHON'] === undefined &&
      'the bench needs torchvision (5 GB), and TRT_BENCH_PYTHON names no Python that has it',
  },
}

t.test('all benches are here', async (t) => {
  const files = readdirSync(join(packageRoot(), 'bench')).filter((name) => name.endsWith('.ts'))
  t.same(Object.keys(benches), files.map((file) => basename(file, '.ts')).sort())
})

for (const [name, { skip = false, args = [] }] of Object.entries(benches))
  t.test(`bench ${name} --quick`, { skip }, async (t) => {
    const program = join(packageRoot(), 'scripts', 'bench.mjs')
    const { code, stdout, stderr } = await runNode(
      [program, name, '--quick', '--json', ...args],
      packageRoot(),
      1_500_000,
    )
    t.equal(code, 0)
    if (code !== 0) t.comment(stderr)
    const rows = stdout === '' ? [] : rowsOf(stdout)
    t.ok(rows.length > 0, 'it measured something')
    t.same(
      rows.filter(({ ok }) => !ok),
      [],
    )
    t.equal(new Set(rows.map(({ what }) => what)).size, rows.length, '--against finds a row by its name')
  })
