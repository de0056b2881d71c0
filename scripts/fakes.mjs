// @ts-check
// node scripts/fakes.mjs: builds the fakes of the CUDA driver and of TensorRT (test/fake), and prints their folder.
// Once for what they are made of, however many tests ask for them.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { forgetMovedBuild } from './build.mjs'
import { compilerCount } from './slots.mjs'
import { filesUnder, main, root, runQuietly, withLock } from './support.mjs'

const source = join(root, 'test', 'fake')

const fingerprint = () => {
  const hash = createHash('sha256')
  const files = [
    ...filesUnder(source),
    ...filesUnder(join(root, 'test', 'facts')),
    join(root, 'scripts', 'compile.cmake'),
  ]
  for (const path of files.filter((path) => !path.endsWith('.ts')).sort())
    hash.update(relative(root, path)).update(readFileSync(path))
  return hash.digest('hex')
}

/**
 * @param {'address' | 'thread'} [sanitize]
 * @returns {Promise<string>} the folder of libcuda.so.1, trt10/, trt11/ and rtx17/
 */
export const buildFakes = (sanitize) => {
  const name = sanitize ? `fake-${sanitize}` : 'fake'
  return withLock(name, async () => {
    const folder = join(root, 'build', name)
    const stamp = join(folder, 'fingerprint')
    const current = `${folder} ${fingerprint()}`
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === current) return folder
    mkdirSync(folder, { recursive: true })
    forgetMovedBuild(folder, source)
    const what = `building the fakes${sanitize ? ` (${sanitize} sanitizer)` : ''}`
    await runQuietly('cmake', ['-S', source, '-B', folder, `-DSANITIZE=${sanitize ?? ''}`], { what })
    await runQuietly('cmake', ['--build', folder, '--parallel', String(compilerCount())], { what })
    writeFileSync(stamp, current)
    return folder
  })
}

if (argv[1] === fileURLToPath(import.meta.url)) await main(async () => console.log(await buildFakes()))
