import { TensorRTError } from '../errors.js'

/** Whether a path that names nothing is meant as a pattern: `photos/*.jpg`. */
export async function isPattern(path: string): Promise<boolean> {
  const { isDynamicPattern } = await import('tinyglobby')
  return isDynamicPattern(path)
}

/**
 * The files that a pattern fits, in the order of their code points, relative to `cwd` unless the pattern is absolute.
 * `*` fits no name that begins with a dot. The ending matches in both cases, as in folders: cameras write `A.JPG`.
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE where there are none
 */
export async function filesFitting(pattern: string, cwd = process.cwd()): Promise<string[]> {
  const { glob } = await import('tinyglobby')
  const files = await glob(withAnyCase(pattern), { cwd, expandDirectories: false })
  if (files.length === 0) throw noFile(pattern, 'no file fits this pattern')
  return inOrder(files)
}

/** `*.{jpg,png}` as `*.{[jJ][pP][gG],[pP][nN][gG]}`. */
function withAnyCase(pattern: string): string {
  return pattern.replace(/(?<=[*?\]})][^./]*)\.[\w{}()|@,+]+$/, (ending) =>
    ending.replaceAll(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`),
  )
}

/** Paths and names in the order of their code points, which is that of UTF-8. */
export function inOrder(names: readonly string[]): string[] {
  return names
    .map((name) => Buffer.from(name))
    .sort((a, b) => a.compare(b))
    .map((name) => name.toString())
}

/** The error of a path that gives no file. */
export function noFile(path: string, why: string): TensorRTError {
  return new TensorRTError('ERR_TRT_FILE', `Cannot read ${path}: ${why}`, { details: { path } })
}
