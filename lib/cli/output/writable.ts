import { open, opendir, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isThere, onFile, openFile, writeTarget } from '../../base/files.js'
import { overwritten } from '../../base/overwriting.js'
import { temporaryOf } from '../../base/temporary.js'
import { TensorRTError } from '../../errors.js'
import type { Flags, Refuse } from '../flags.js'

/** Lets a command write over what it reads. */
export const forceFlag = {
  '--force': 'results may take the place of files that are read here',
} as const satisfies Flags

/** What a command reads, and the files that it writes. */
export interface Files {
  /** ONNX files and plans, which have to be there: the files that hold weights of them count too. */
  readonly models?: readonly (string | undefined)[] | undefined
  /** Other files that have to be there. */
  readonly needed?: readonly (string | undefined)[] | undefined
  /** What is read where it is there. */
  readonly inputs?: readonly (string | undefined)[] | undefined
  /** What is read where it is there, and written in the end. */
  readonly kept?: readonly (string | undefined)[] | undefined
  readonly outputs?: readonly (string | undefined)[] | undefined
  /** An ONNX file that is written: the file with the weights of the one that it replaces goes with that. */
  readonly onnx?: string | undefined
  /** A folder for results, which is made where there is none, and what is written there as far as that is known. */
  readonly folder?: string | undefined
  readonly inFolder?: readonly string[] | undefined
  /** A plan that is written, with its sidecar. */
  readonly plan?: string | undefined
  readonly force?: true | undefined
}

/**
 * Before the work, which may take hours: refuses what cannot be read, to write over a file that is read (by whatever
 * name it is given), to write two results into one file, and what cannot be written.
 * @throws TensorRTError ERR_TRT_FILE where a file is not there, or cannot be written
 */
export async function refuseFiles(files: Files, refuse: Refuse): Promise<void> {
  const { onnx, plan, folder, force } = files
  for (const path of present([...(files.models ?? []), ...(files.needed ?? [])])) await needFile(path)
  const outputs = present([...(files.outputs ?? []), onnx, plan])
  const sidecars = plan === undefined ? [] : [`${plan}.json`]
  if (outputs.includes('')) throw new TensorRTError('ERR_TRT_FILE', 'Cannot write: the path is empty')
  if (force !== true) await refuseSources([...outputs, ...sidecars, ...(files.inFolder ?? [])], files, refuse)
  await refuseTwice([...outputs, ...sidecars], refuse)
  const kept = present(files.kept ?? [])
  for (const path of kept) if (await isThere(path)) await needFile(path)
  await refuseUnwritable(...outputs, ...kept)
  if (folder !== undefined)
    await onFile('write', folder, async () => tryToWrite(join(await nearestFolder(resolve(folder)), 'result'), folder))
  if (plan !== undefined) await (await import('../../plan/write.js')).refuseForeignSidecar(plan)
}

function present(paths: readonly (string | undefined)[]): string[] {
  return paths.filter((path) => path !== undefined)
}

async function refuseSources(outputs: readonly string[], files: Files, refuse: Refuse): Promise<void> {
  const { onnx } = files
  const there = await Promise.all(
    outputs.map(async (path) => (await stat(path).catch(() => undefined))?.isFile() === true),
  )
  if (!there.some(Boolean)) return
  const { weightFilesOf } = await import('../../onnx/external.js')
  const models = present(files.models ?? [])
  const weights = (await Promise.all(models.map((model) => weightFilesOf(model)))).flat()
  const replaced =
    onnx === undefined
      ? []
      : await (await import('../../onnx/save/data-file.js')).dataFiles(await writeTarget(onnx).catch(() => onnx))
  const read = present([...(files.inputs ?? []), ...(files.needed ?? []), ...(files.kept ?? [])])
  const found = await overwritten([...outputs, ...replaced], [...models, ...read, ...weights])
  if (found === undefined) return
  const { target, source } = found
  const other = source === target ? '' : `, as ${source}`
  refuse(`Cannot write ${target}: it is read as an input${other}. Name another file, or give --force`)
}

/** Two results in one file: the second would take the place of the first. */
async function refuseTwice(outputs: readonly string[], refuse: Refuse): Promise<void> {
  const real = await Promise.all(outputs.map((path) => writeTarget(path).catch(() => path)))
  const again = real.findIndex((path, index) => real.indexOf(path) < index)
  if (again >= 0) refuse(`Cannot write two results to ${outputs[again]}: name a file for each`)
}

/** Whether files can be written where they are to be. @throws TensorRTError ERR_TRT_FILE */
async function refuseUnwritable(...paths: readonly string[]): Promise<void> {
  for (const path of paths) await onFile('write', path, () => tryToWrite(path))
}

/** The folder itself, or the one that it would be made in. */
async function nearestFolder(path: string): Promise<string> {
  if (await isThere(path)) return path
  const parent = dirname(path)
  return parent === path ? path : nearestFolder(parent)
}

/** `name`: what the user called it. */
async function tryToWrite(path: string, name = path): Promise<void> {
  if ((await stat(path).catch(() => undefined))?.isDirectory() === true)
    throw fault('write', name, 'it is a folder, and the result is a file')
  // who replaces a file makes one in its folder; what a system says of its rights is not always so, as in /proc
  const temporary = temporaryOf(await writeTarget(path))
  const file = await open(temporary, 'wx').catch((cause: unknown) => {
    throw fault('write', name, `no file can be made in ${dirname(temporary)} (${codeOf(cause)})`, cause)
  })
  await file.close()
  await rm(temporary, { force: true })
}

/** A file that can be read. @throws TensorRTError ERR_TRT_FILE */
export async function needFile(path: string): Promise<void> {
  await onFile('read', path, async () => (await openFile(path)).close())
}

/** A folder that is there. @throws TensorRTError ERR_TRT_FILE */
export async function needFolder(path: string): Promise<void> {
  await onFile('read', path, async () => (await opendir(path)).close())
}

/** The system's own word for what is wrong. */
function codeOf(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  return code ?? message
}

function fault(what: 'read' | 'write', path: string, why: string, cause?: unknown): TensorRTError {
  return new TensorRTError('ERR_TRT_FILE', `Cannot ${what} ${path}: ${why}`, { cause, details: { path } })
}
