import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TensorRTError } from '../errors.js'
import { lacking } from './remedies.js'

const name = 'node-tensorrt'

/**
 * The folder of this package: the nearest one above this file that has a package.json.
 * @throws TensorRTError ERR_TRT_NO_ADDON where that is another package's: a bundler has put this code into a file there
 */
export function packageRoot(): string {
  return manifest().folder
}

/** As package.json has it: "0.1.0". @throws TensorRTError as {@link packageRoot} */
export function packageVersion(): string {
  return manifest().version
}

/**
 * A file of this package that is run by itself, such as the code of a worker.
 * @param from `import.meta.url` of who runs it, which is beside it; bundlers of CommonJS leave none
 * @throws TensorRTError ERR_TRT_NO_ADDON where it is not there
 */
export function ownFile(file: string, from: string | undefined): URL {
  const url = from === undefined ? undefined : new URL(file, from)
  if (url === undefined || !existsSync(url)) throw bundled()
  return url
}

function manifest(): { readonly folder: string; readonly version: string } {
  const here = import.meta.url as string | undefined
  if (here === undefined) throw bundled()
  let folder = dirname(fileURLToPath(here))
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder)
  const found = read(join(folder, 'package.json'))
  if (found.name !== name || found.version === undefined) throw bundled()
  return { folder, version: found.version }
}

function read(path: string): { readonly name?: string; readonly version?: string } {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { name?: string; version?: string }
  } catch {
    return {}
  }
}

/** Without its own files there is neither the addon nor what runs without it. */
function bundled(): TensorRTError {
  const what = `${name} is part of a bundle, where neither its addon nor the files of its threads are`
  return lacking('ERR_TRT_NO_ADDON', what, { details: { bundled: true } })
}
