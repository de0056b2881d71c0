/**
 * Nothing writes over a file that it was read from, or made of, unless it is asked to. Files are the same where system
 * and number are: through links of either kind.
 */
import { stat } from 'node:fs/promises'
import { TensorRTError } from '../errors.js'

/** Options of what writes a file. */
export interface OverwriteOptions {
  /**
   * Whether the file that this was read from, or made of, may be written over; false unless given. Other files are
   * replaced in either case.
   */
  readonly overwrite?: boolean | undefined
}

const filesOf = new WeakMap<object, ReadonlySet<string>>()

/** Keeps in mind that a value was read from these files. */
export function rememberFiles(value: object, ...paths: readonly string[]): void {
  filesOf.set(value, new Set([...(filesOf.get(value) ?? []), ...paths]))
}

/** The same of all files that another value was read from, which `value` is made of. @returns `value` */
export function inheritFiles<T extends object>(value: T, ...from: readonly object[]): T {
  const paths = from.flatMap((each) => rememberedFiles(each))
  if (paths.length > 0) rememberFiles(value, ...paths)
  return value
}

export function rememberedFiles(value: object): readonly string[] {
  return [...(filesOf.get(value) ?? [])]
}

/** @throws TensorRTError ERR_TRT_FILE where one of the targets is a file that the value was read from, or made of */
export async function refuseOverwriting(
  value: object,
  targets: readonly string[],
  more: readonly string[] = [],
): Promise<void> {
  const sources = [...rememberedFiles(value), ...more]
  const found = await overwritten(targets, sources)
  if (found === undefined) return
  const { target, source } = found
  const what =
    source === target
      ? 'what is written was read from it'
      : `what is written was read from ${source}, which is the same file`
  throw new TensorRTError(
    'ERR_TRT_FILE',
    `Cannot write ${target}: ${what}. Name another file, or give the option overwrite: true`,
    {
      details: { path: target, source },
    },
  )
}

/** The first target that is a source, too. One that is not there is none. */
export async function overwritten(
  targets: readonly string[],
  sources: readonly string[],
): Promise<{ readonly target: string; readonly source: string } | undefined> {
  if (targets.length === 0 || sources.length === 0) return undefined
  const known = new Map<string, string>()
  for (const target of targets) {
    const id = await idOf(target)
    if (id === undefined) continue
    if (known.size === 0) for (const source of sources) known.set((await idOf(source)) ?? `none ${source}`, source)
    const source = known.get(id)
    if (source !== undefined) return { target, source }
  }
  return undefined
}

/** Which file it is, whatever leads to it; nothing where none is there. */
async function idOf(path: string): Promise<string | undefined> {
  const facts = await stat(path, { bigint: true }).catch(() => undefined)
  return facts && `${facts.dev} ${facts.ino}`
}
