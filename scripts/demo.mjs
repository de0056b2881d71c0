// @ts-check
// npm run demo [-- PHOTO... --out DIR --json]: builds what is missing, sees to a TensorRT, then blurs faces. Only the
// demo itself writes to stdout.
import { join } from 'node:path'
import { argv } from 'node:process'
import { buildAll } from './build.mjs'
import { main, root, runHere, say } from './support.mjs'
import { ensureTensorRT } from './tensorrt.mjs'

await main(async () => {
  // fetched while the compiler runs
  const fetched = ensureTensorRT()
  await buildAll(fetched)
  const { path, reason } = await fetched
  if (!path) say(`${reason}\nThe demo goes on without it.`)
  // npm runs this in the package's folder; paths of photographs are meant from where the person stands.
  const cwd = (process.env['npm_lifecycle_event'] === 'demo' && process.env['INIT_CWD']) || process.cwd()
  process.exitCode = await runHere(process.execPath, [join(root, 'dist/examples/blur-faces.js'), ...argv.slice(2)], {
    cwd,
    env: path ? { TENSORRT_PATH: path } : {},
  })
})
