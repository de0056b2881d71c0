// @ts-check
// node scripts/record.mjs [--replace]: records what the TensorRT at $TENSORRT_PATH, or the TensorRT-RTX of the tests,
// does on this machine, into test/recordings. Without a GPU that is TensorRT-RTX's builder alone. What is recorded
// already is compared, and replaced where one says so.
import { join } from 'node:path'
import { argv } from 'node:process'
import { buildAll } from './build.mjs'
import { Failure, main, root, runHere } from './support.mjs'
import { ensureTensorRT } from './tensorrt.mjs'

await main(async () => {
  const unknown = argv.slice(2).find((word) => word !== '--replace')
  if (unknown !== undefined) throw new Failure(`unknown option ${unknown}; known: --replace`)
  await buildAll()
  const { path, reason } = await ensureTensorRT()
  if (!path) throw new Failure(`${reason}`)
  const program = join(root, 'dist', 'test', 'recordings', 'record.js')
  process.exitCode = await runHere(process.execPath, [program, ...argv.slice(2)], { env: { TENSORRT_PATH: path } })
})
