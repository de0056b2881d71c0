// Model files of a repository that no model is served from, and where they belong.
import { basename, dirname, extname, join } from 'node:path'
import { otherThan } from '../../base/file-kinds.js'
import { headOfFile } from '../../base/files.js'

/** File names that need no config, with their backend, by the ending of a file that is called otherwise. */
const served: Readonly<Record<string, readonly [name: string, backend: string]>> = {
  '.onnx': ['model.onnx', 'onnxruntime'],
  '.plan': ['model.plan', 'tensorrt'],
  '.engine': ['model.plan', 'tensorrt'],
  '.trt': ['model.plan', 'tensorrt'],
}

/** Backend `node`; only where nothing but a model is expected, since repositories may have scripts of other kinds. */
const modules: typeof served = {
  '.js': ['model.js', 'node'],
  '.mjs': ['model.mjs', 'node'],
  '.ts': ['model.ts', 'node'],
}

/** Endings of model formats that have to become ONNX first. */
const foreign: readonly string[] = [
  '.pt',
  '.pth',
  '.pt2',
  '.ckpt',
  '.torchscript',
  '.tflite',
  '.pb',
  '.h5',
  '.hdf5',
  '.keras',
  '.safetensors',
  '.gguf',
  '.mlmodel',
  '.caffemodel',
]

/** Backends of a single model file, by its ending. */
export function backendOfFile(file: string): string | undefined {
  return served[extname(file).toLowerCase()]?.[1]
}

/** Endings of files that can be served without a folder. */
export const singleFileEndings: readonly string[] = Object.keys(served)

/**
 * Text for the log about a repository without model folders, or with model files outside of them.
 *
 * @param entries names in the repository, except folders that can be models
 * @param hasModels whether there are such folders
 */
export async function misplacedText(
  repository: string,
  entries: readonly string[],
  hasModels: boolean,
): Promise<string | undefined> {
  const loose = entries.filter((name) => isModelFile(name))
  if (hasModels && loose.length === 0) return undefined
  const isVersionFolder = !hasModels && isVersion(basename(repository))
  if (isVersionFolder && entries.some((name) => isModelFile(name, modules)))
    return versionFolderText(repository, entries)
  const moves = await Promise.all(loose.slice(0, maxListed).map((name) => moveText(repository, name)))
  const others = loose.length > maxListed ? [`the same for ${loose.length - maxListed} more`] : []
  const remedy = moves.length === 0 ? '' : `. To fix: ${[...moves, ...others].join('; ')}`
  if (hasModels) return `${repository} has model files outside of model folders, which are not served${remedy}`
  const found = entries.length === 0 ? 'it is empty' : `it has only ${listText(entries)}`
  return `${repository} has no models: expected a folder for each model and version, such as resnet50/1/model.onnx, but ${found}${remedy}`
}

/** Text about a repository that is itself the folder of a version. */
function versionFolderText(repository: string, entries: readonly string[]): string {
  const model = dirname(repository)
  const about = `${repository} has no models: it has ${listText(entries)}, and is named like a version of the model '${basename(model)}'`
  return `${about}. To fix: use ${dirname(model)} as the model repository`
}

/** Whether a folder can be a version: a whole number of 63 bits, without leading zeros. */
export function isVersion(name: string): boolean {
  return /^(0|[1-9]\d{0,18})$/.test(name) && BigInt(name) < 2n ** 63n
}

/** Hint for a model folder without versions, to append to a message; empty if nothing in it looks like a model. */
export function versionlessHint(
  name: string,
  files: readonly string[],
  folders: ReadonlyMap<string, readonly string[]>,
): string {
  const [file] = files.filter((each) => isModelFile(each, modules))
  if (file !== undefined && isVersion(name))
    return `; '${name}' has ${file}, and is named like a version: the repository is the folder that contains the folder of the model`
  const [, target] = file === undefined ? [] : targetOf(file)
  if (file !== undefined) return `; found ${file}: move it to ${name}/1/${target ?? 'model.onnx'}`
  for (const [folder, inside] of folders) {
    const found = inside.find((each) => isModelFile(each, modules))
    if (found !== undefined) return `; found ${folder}/${found}: versions are whole numbers, so rename ${folder} to 1`
  }
  return ''
}

/** Hint for a version without a file that a backend is known for, to append to a message. */
export async function unnamedHint(folder: string, files: readonly string[]): Promise<string> {
  const known = files.filter((file) => isModelFile(file, modules) && !isForeign(file))
  const [file] = known
  if (file !== undefined) {
    const [backend, target] = targetOf(file)
    const others = known.length > 1 ? ` (or one of ${listText(known.slice(1))})` : ''
    return `; found ${file}: rename it${others} to ${target}, or set backend: "${backend}" and default_model_filename: "${file}" in config.pbtxt`
  }
  const other = files.find(isForeign)
  return other === undefined ? '' : `; found ${await foreignText(folder, other)}`
}

const maxListed = 5

function isModelFile(name: string, more: typeof served = {}): boolean {
  const ending = extname(name).toLowerCase()
  return !name.startsWith('.') && (ending in served || ending in more || isForeign(name))
}

function isForeign(name: string): boolean {
  return foreign.includes(extname(name).toLowerCase())
}

/** Backend and usual name of a file. */
function targetOf(file: string): readonly [backend: string, target: string] {
  const ending = extname(file).toLowerCase()
  const [target, backend] = served[ending] ?? modules[ending] ?? ['model.onnx', 'onnxruntime']
  return [backend, target]
}

async function moveText(folder: string, file: string): Promise<string> {
  const place = `${file.slice(0, -extname(file).length)}/1/${targetOf(file)[1]}`
  return isForeign(file) ? `${await foreignText(folder, file)}, as ${place}` : `move ${file} to ${place}`
}

/** `net.tflite, a model of TFLite: python -m tf2onnx.convert …`. */
async function foreignText(folder: string, file: string): Promise<string> {
  const head = await headOfFile(join(folder, file)).catch(() => undefined)
  const what = head === undefined ? undefined : otherThan('model', head)
  return what?.includes(': ') === true ? `${file}, ${what}` : `${file}: export the model to ONNX`
}

/** The first names, and how many more there are. */
export function listText(names: readonly string[]): string {
  const more = names.length - maxListed
  return `${names.slice(0, maxListed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
