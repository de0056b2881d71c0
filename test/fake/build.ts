// Builds the fakes once, however many test files ask for them at the same time.
import { execFile } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Fakes {
  cuda: string
  /** Folders; the libraries are libnvinfer.so.N and libnvonnxparser.so.N in them. */
  trt10: string
  trt11: string
  control: string
  /** A library with one creator of plugins, for the fakes and for a real TensorRT. */
  plugin: string
  folder: string
}

/** The repository, from lib or dist. */
export const root = (() => {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'test', 'fake', 'CMakeLists.txt'))) {
    if (dirname(folder) === folder) throw new Error('no test/fake above this file')
    folder = dirname(folder)
  }
  return folder
})()

function alive(lock: string): boolean {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0)
    return true
  } catch {
    return false
  }
}

/** Holds the lock file while `work` runs; a lock whose process is gone is taken over. */
async function locked<T>(lock: string, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      const file = openSync(lock, 'wx')
      writeSync(file, String(process.pid))
      closeSync(file)
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      await sleep(200)
      if (existsSync(lock) && !alive(lock)) {
        // The owner may be between creating and writing: look once more.
        await sleep(300)
        if (existsSync(lock) && !alive(lock)) rmSync(lock, { force: true })
      }
    }
  }
  try {
    return await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

function fakesIn(folder: string): Fakes {
  return {
    cuda: join(folder, 'libcuda.so.1'),
    trt10: join(folder, 'trt10'),
    trt11: join(folder, 'trt11'),
    control: join(folder, 'control.node'),
    plugin: join(folder, 'libplugin.so'),
    folder,
  }
}

let built: Record<string, Promise<Fakes>> = {}

export function buildFakes(options: { sanitize?: 'address' | 'thread' | 'undefined' } = {}): Promise<Fakes> {
  const name = options.sanitize ? `fake-${options.sanitize}` : 'fake'
  return (built[name] ??= (async () => {
    // built already, and instrumented as the process is: under the thread sanitizer Node can't start the compiler
    const ready = process.env['NODE_TENSORRT_FAKES']
    const folder = ready ?? resolve(root, 'build', name)
    if (ready !== undefined) return fakesIn(ready)
    mkdirSync(folder, { recursive: true })
    await locked(`${folder}.lock`, async () => {
      const source = join(root, 'test', 'fake')
      if (!existsSync(join(folder, 'CMakeCache.txt')))
        await run('cmake', ['-S', source, '-B', folder, `-DSANITIZE=${options.sanitize ?? ''}`])
      await run('cmake', ['--build', folder, '--parallel', '2'], { maxBuffer: 1 << 26 })
    })
    return fakesIn(folder)
  })().catch((error: unknown) => {
    built = {}
    throw error
  }))
}
