// All of the package in a `vm` context, where Node's and native code's values are of another realm: each class of the
// entries, and the program. test/engine/realms.test.ts has the package outside and the values from within.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { buildFakes } from '../fake/build.js'
import { runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { programs } from '../support/video-clips.js'
import { onTensorRT, writeProgram } from './program.js'
import { root } from './support.js'

interface Told {
  readonly classes: readonly string[]
  readonly found: Readonly<Record<string, unknown>>
  readonly wanted: Readonly<Record<string, unknown>>
  readonly program: unknown
}

const ofVideos = ['VideoWriter', 'VideoSource', 'VideoFrame', 'Streams']

t.test('every class, and the program', async (t) => {
  const fakes = await buildFakes()
  const folder = temporaryFolder(t)
  await writeProgram(folder)
  const child = fileURLToPath(new URL('context-child.js', import.meta.url))
  const { code, stdout, stderr } = await runNode(['--experimental-vm-modules', child, root], folder, undefined, {
    NODE_TENSORRT_LIBCUDA: fakes.cuda,
    TENSORRT_PATH: fakes.trt10,
    NODE_TENSORRT_CACHE: join(folder, 'engines'),
  })
  if (code !== 0) return void t.fail(stderr)
  const { classes, found, wanted, program } = JSON.parse(stdout) as Told
  t.ok(classes.length > 20, 'classes')
  for (const name of classes) {
    if (programs === undefined && ofVideos.includes(name)) continue
    t.ok(Object.hasOwn(wanted, name), `${name} has a line in in-context.ts`)
    t.same(found[name], wanted[name], name)
  }
  t.same(program, onTensorRT)
})
