// The pictures of docs/gallery: made again, and linked by the guide.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { readImage } from '../../lib/vision/index.js'
import { readText } from '../package/support.js'
import { runNode } from '../support/children.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'

const gallery = join(packageRoot(), 'docs/gallery')
const names = readdirSync(gallery).sort()

t.test('the pictures are small, and in the guide', (t) => {
  const sizes = names.map((name) => statSync(join(gallery, name)).size)
  t.ok(Math.max(...sizes) <= 60_000, `the largest has ${Math.max(...sizes)} bytes`)
  t.ok(sizes.reduce((sum, size) => sum + size, 0) <= 400_000)
  const guide = readText('docs/guides/pictures-and-tasks.md')
  t.same(
    names.filter((name) => !guide.includes(`](../gallery/${name})`)),
    [],
  )
  t.end()
})

t.test('node scripts/gallery.mjs makes them', { skip: skipWithoutCenterFace }, async (t) => {
  const out = t.testdir()
  const program = fileURLToPath(new URL('../../examples/gallery.js', import.meta.url))
  const { code, stderr } = await runNode([program, '--out', out], undefined, undefined, {
    NODE_TENSORRT_CENTERFACE: centerFacePath!,
  })
  t.equal(code, 0, stderr)
  t.same(readdirSync(out).sort(), names)
  for (const name of names) {
    const [made, kept] = [await readImage(join(out, name)), await readImage(join(gallery, name))]
    t.match(made, { width: kept.width, height: kept.height }, name)
    // letters are those of the system's fonts
    const difference =
      made.data.reduce((sum, value, at) => sum + Math.abs(value - kept.data[at]!), 0) / made.data.length
    t.ok(difference < (name === 'text.jpg' ? 20 : 3), `${name} differs by ${difference} of 255 on average`)
  }
})
