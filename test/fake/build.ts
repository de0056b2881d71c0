// The fakes, which scripts/fakes.mjs builds.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface Fakes {
  cuda: string
  /** Folders; the libraries are libnvinfer.so.N and libnvonnxparser.so.N in them. */
  trt10: string
  trt11: string
  /** TensorRT-RTX 1.7, with the names of its libraries. */
  rtx17: string
  control: string
  /** A library with one creator of plugins, for the fakes and for a real TensorRT. */
  plugin: string
  /** A library of the operator Twice of the domain "test", for onnxruntime, and one that refuses to register it. */
  customOps: string
  refusingOps: string
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

function fakesIn(folder: string): Fakes {
  return {
    cuda: join(folder, 'libcuda.so.1'),
    trt10: join(folder, 'trt10'),
    trt11: join(folder, 'trt11'),
    rtx17: join(folder, 'rtx17'),
    control: join(folder, 'control.node'),
    plugin: join(folder, 'libplugin.so'),
    customOps: join(folder, 'libcustom_ops.so'),
    refusingOps: join(folder, 'libcustom_ops_refusing.so'),
    folder,
  }
}

let built: Promise<Fakes> | undefined

/**
 * Those that `npm test` has built, which it names in NODE_TENSORRT_FAKES; who runs a test file by hand has them built
 * here.
 */
export function buildFakes(): Promise<Fakes> {
  built ??= (async () => {
    const ready = process.env['NODE_TENSORRT_FAKES']
    if (ready !== undefined) return fakesIn(ready)
    const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'scripts', 'fakes.mjs')])
    return fakesIn(stdout.trim())
  })()
  return built
}
