// Models that are served from one file, without folders: what their names and files may be.
import { extname } from 'node:path'
import { backendOfFile, singleFileEndings } from './misplaced.js'

/** What was expected, if this is no name of a model. */
export function nameFault(name: string): string | undefined {
  return isModelName(name) ? undefined : "a name without '/' that does not begin with '.'"
}

/** Whether a model can have this name: a plain name of a folder that is not hidden. */
export function isModelName(name: string): boolean {
  return name !== '' && !name.startsWith('.') && !/[/\0]/.test(name)
}

/** What was expected, if such a file cannot be served without a folder. */
export function endingFault(path: string): string | undefined {
  if (backendOfFile(path) !== undefined) return undefined
  const isModule = /^\.[cm]?[jt]s$/i.test(extname(path))
  const why = isModule
    ? ' (a model in JavaScript needs a config.pbtxt: serve it from a folder, by --model-repository or modelRepository)'
    : ''
  return `a file that ends in ${singleFileEndings.join(', ')}${why}`
}
