import { basename, extname, join } from 'node:path'
import { checkedObject } from '../base/checks.js'
import { makeFolder, onFile, saveFile } from '../base/files.js'
import { checkedPath } from '../base/source.js'
import { type Checked, checkedOptions, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import { type OverwriteOptions, refuseOverwriting } from '../base/overwriting.js'
import { expected } from '../errors.js'
import { expectedTensor, Tensor, typedDataOf } from '../tensor.js'
import { jsonChunks } from './json.js'
import { bytesOf, npyChunks } from './npy.js'
import { checkedFormat, formatOfName, type TensorFormat, tensorFormats } from './types.js'

/** Options of {@link writeTensor} and {@link writeTensors}. */
export interface WriteTensorOptions extends OverwriteOptions {
  /** Default: what the path ends in, `.npy`, `.npz`, `.json`; `.raw`, `.bin` and `.dat` are raw. */
  readonly format?: TensorFormat | undefined
  /** Of `.npz`: whether it is deflated, as `numpy.savez_compressed` does; default false, as `numpy.savez`. */
  readonly compressed?: boolean | undefined
  /** Gives up writing: what was there before is left as it was. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Writes a tensor to a file, whole or not at all: a temporary file beside it takes its place. In `.npz` and JSON it is
 * called as the file is without its ending.
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE: also where a tensor was read from that very file, unless
 * `overwrite` allows it; ERR_TRT_DTYPE where the format has no such elements (NumPy has no bfloat16, float8e4m3, int4,
 * float4e2m1); ERR_TRT_INVALID_ARGUMENT; or it is the reason of the signal
 */
export async function writeTensor(path: string | URL, tensor: Tensor, options?: WriteTensorOptions): Promise<void> {
  const writing = checkedWriting(options, 'writeTensor')
  if (!Tensor.is(tensor)) throw expectedTensor('a Tensor', 'tensor', tensor)
  const target = checkedPath(path)
  const format = checkedFormat(writing.format, target)
  await writeAs(format, target, [[basename(target, extname(target)), tensor]], writing)
}

/**
 * Writes tensors by their names, each file whole or not at all: one file of all where the path ends in `.npz` or
 * `.json` (as trtexec's `--exportOutput` has it); else into a folder, which is made where there is none, a file
 * `NAME.npy` for each, or of another `format`. What a name of a file must not have becomes `_`.
 * @returns the paths of what was written
 * @throws TensorRTError (as a rejection) as {@link writeTensor}
 */
export async function writeTensors(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor>>,
  options?: WriteTensorOptions,
): Promise<string[]> {
  const writing = checkedWriting(options, 'writeTensors')
  const target = checkedPath(path)
  const named = checkedTensors(tensors)
  const format = writing.format ?? formatOfName(target) ?? 'npy'
  const holdsMany = format === 'npz' || format === 'json'
  if (formatOfName(target) !== undefined || holdsMany) {
    if (!holdsMany && named.length > 1)
      throw expected(`a folder, or a file of .npz or .json, for ${named.length} tensors`, 'path', path)
    await writeAs(format, target, named, writing)
    return [target]
  }
  await onFile('make', target, () => makeFolder(target))
  const written: string[] = []
  for (const [index, file] of fileNames(named.map(([name]) => name)).entries()) {
    written.push(join(target, `${file}.${format}`))
    await writeAs(format, written[index]!, [named[index]!], writing)
  }
  return written
}

/** Of each name what a file can be called, no two alike. */
export function fileNames(names: readonly string[]): string[] {
  const taken = new Set<string>()
  return names.map((name) => {
    const safe =
      Array.from(name.replace(/[/\\:*?"<>|]/g, '_').replace(/^\.+/, '_'), (sign) => (sign < ' ' ? '_' : sign))
        .slice(0, 100)
        .join('') || '_'
    let free = safe
    for (let number = 2; taken.has(free.toLowerCase()); number++) free = `${safe}-${number}`
    taken.add(free.toLowerCase())
    return free
  })
}

const table = {
  format: option(is.choice(...tensorFormats)),
  compressed: option(is.boolean, false),
  overwrite: option(is.boolean, false),
  signal: signalOption,
} satisfies OptionTable<WriteTensorOptions>

type Writing = Checked<typeof table>

function checkedWriting(options: unknown, owner: string): Writing {
  const checked = checkedOptions(options, table, owner)
  checked.signal?.throwIfAborted()
  return checked
}

function checkedTensors(tensors: unknown): (readonly [string, Tensor])[] {
  const named = Object.entries(checkedObject(tensors, 'tensors', 'tensors by their names')) as [string, Tensor][]
  if (named.length === 0) throw expected('at least one tensor', 'tensors', tensors)
  for (const [name, tensor] of named)
    if (!Tensor.is(tensor)) throw expectedTensor('a Tensor', `tensors.${name}`, tensor)
  return named
}

async function writeAs(
  format: TensorFormat,
  path: string,
  tensors: readonly (readonly [string, Tensor])[],
  { compressed, overwrite, signal }: Writing,
): Promise<void> {
  if (!overwrite) for (const [, tensor] of tensors) await refuseOverwriting(tensor, [path])
  await saveFile(path, untilAborted(await chunksOf(format, tensors, compressed), signal))
}

async function chunksOf(
  format: TensorFormat,
  tensors: readonly (readonly [string, Tensor])[],
  compressed: boolean,
): Promise<Iterable<Uint8Array> | AsyncIterable<Uint8Array>> {
  if (format === 'npz') return (await import('./npz.js')).npzChunks(tensors, compressed)
  if (format === 'json') return jsonChunks(tensors)
  return tensors.flatMap(([, tensor]) => (format === 'npy' ? npyChunks(tensor) : [bytesOf(typedDataOf(tensor))]))
}

async function* untilAborted(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    signal?.throwIfAborted()
    yield chunk
  }
  signal?.throwIfAborted()
}
