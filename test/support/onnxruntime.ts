// The libraries that the package onnxruntime-node brings.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const manifest = createRequire(import.meta.url).resolve('onnxruntime-node/package.json')

/** The folder of those for this machine. */
export const packagedBinaries = join(dirname(manifest), 'bin', 'napi-v6', process.platform, process.arch)
/** onnxruntime itself, where it is Linux. */
export const packagedLibrary = join(packagedBinaries, 'libonnxruntime.so.1')
