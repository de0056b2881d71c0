/** What a file is that is not what was meant, told from its first bytes, and what to do about it. */
/* eslint no-control-regex: off -- files of programs begin with such */
import { isLfsPointer, lfsPointer } from './lfs.js'

/** So many bytes of a file tell what it is. */
export const headBytes = 512

/** What was meant. */
export type Wanted = 'model' | 'plan' | 'picture'

/**
 * The tags (field number × 8 + wire type) of ModelProto's fields that fit in one byte. They are written out, since who
 * opens a plan is to load no schema; test/files/kinds.test.ts holds them against it.
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto ModelProto
 */
export const firstTags: ReadonlySet<number> = new Set([0x08, 0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72])

/**
 * Whether bytes that begin so may be ONNX. Writers put a model's fields in the order of their numbers, so one of the
 * first opens every file.
 */
export function looksLikeOnnx(head: Uint8Array): boolean {
  return head.length > 1 && firstTags.has(head[0] ?? 0)
}

/** The first bytes of a plan: of TensorRT, and of TensorRT-RTX. */
export const planTags = { ftrt: 'full', vtrt: 'rtx' } as const

/** The first bytes of a file, as tests of them read it. */
interface Head {
  readonly bytes: Uint8Array
  /** A character for each byte. */
  readonly latin: string
  /** Its text, where it is one: without the space before it. */
  readonly text: string | undefined
}

/** A kind of file: its name with an article, how it begins, and what to do where it is given for something else. */
interface Kind {
  readonly what: string
  readonly is: (head: Head) => boolean
  /** Where a model, or a plan, was meant; of others `model` holds. */
  readonly model?: string
  readonly plan?: string
  readonly picture?: string
}

const exported = 'export the network with torch.onnx.export'
const fetched = 'the download failed, or needs a login: get the file itself'
const unpack = 'unpack it first'
const tensors = 'it has tensors and no network: give it as inputs'
const pixels = 'give the file of the model here, and the picture to what runs it'
const video = 'give the file of the model here; node-tensorrt/video and trt video read videos'
const frames = 'openVideo() of node-tensorrt/video gives its pictures'
const toLoad = 'give it to load(), and a picture here'

const begins =
  (...starts: readonly string[]) =>
  ({ latin }: Head): boolean =>
    starts.some((start) => latin.startsWith(start))

const picture = (format: string, is: Kind['is']): Kind => ({
  what: `${format === 'AVIF' ? 'an' : 'a'} ${format} picture`,
  is,
  model: pixels,
})
const movie = (format: string, is: Kind['is']): Kind => ({
  what: `a video (${format})`,
  is,
  model: video,
  picture: frames,
})
const archive = (what: string, is: Kind['is']): Kind => ({ what, is, model: unpack, plan: unpack, picture: unpack })

const plan: Kind = {
  what: 'a plan of TensorRT',
  is: begins(...Object.keys(planTags)),
  model: 'give the ONNX model that it was built from; Engine.load() runs the plan itself',
  picture: toLoad,
}

/** The first that fits is meant. Those that may begin as ONNX does have more that ONNX cannot have. */
const kinds: readonly Kind[] = [
  { what: lfsPointer, is: ({ bytes }) => isLfsPointer(bytes) },
  plan,
  {
    what: 'a checkpoint of PyTorch (zip)',
    is: (head) =>
      /(?:^|\/)(?:data|constants|bytecode)\.pkl$|\/(?:version|byteorder|archive_format)$|\/code\//.test(zipped(head)),
    model: exported,
  },
  { what: 'arrays of NumPy (.npz)', is: (head) => zipped(head).endsWith('.npy'), model: tensors },
  archive('a zip archive', begins('PK\x03\x04', 'PK\x05\x06')),
  {
    what: 'a checkpoint of PyTorch (pickle)',
    is: begins('\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19'),
    model: exported,
  },
  {
    what: 'a pickle of Python',
    is: ({ latin }) => /^\x80[\x02-\x05][^]/.test(latin),
    model: 'load it in Python, and export the network to ONNX (torch.onnx.export, skl2onnx)',
  },
  {
    what: 'weights without a network (safetensors)',
    is: ({ bytes, latin }) => latin.startsWith('{"', 8) && bytes.subarray(4, 8).every((byte) => byte === 0),
    model: `load them in PyTorch, and ${exported}`,
  },
  {
    what: 'a model of TFLite',
    is: ({ latin }) => latin.startsWith('TFL3', 4),
    model: 'python -m tf2onnx.convert --tflite FILE --output model.onnx',
  },
  {
    what: 'a SavedModel of TensorFlow',
    is: ({ latin }) => /^\x08\x01\x12[\x80-\xff]*[\0-\x7f]\x0a/.test(latin),
    model: 'python -m tf2onnx.convert --saved-model FOLDER --output model.onnx',
  },
  {
    what: 'a graph of TensorFlow (GraphDef)',
    is: ({ latin }) => /^\x0a[\x80-\xff]*[\0-\x7f]\x0a[^]/.test(latin),
    model: 'python -m tf2onnx.convert --graphdef FILE --inputs … --outputs … --output model.onnx',
  },
  {
    what: 'a file of HDF5 (Keras)',
    is: begins('\x89HDF\r\n\x1a\n'),
    model: 'load it in Keras, and export it to ONNX: model.export(FILE, format="onnx")',
  },
  { what: 'a model of GGUF', is: begins('GGUF'), model: 'export the network that it was made of to ONNX' },
  { what: 'an array of NumPy (.npy)', is: begins('\x93NUMPY'), model: tensors },
  picture('PNG', begins('\x89PNG\r\n')),
  picture('JPEG', begins('\xff\xd8\xff')),
  picture('GIF', begins('GIF8')),
  picture('WebP', ({ latin }) => /^RIFF[^]{4}WEBP/.test(latin)),
  picture('TIFF', begins('II*\0', 'MM\0*')),
  picture('AVIF', ({ latin }) => /^[^]{4}ftypavi[fs]/.test(latin)),
  picture('HEIC', ({ latin }) => /^[^]{4}ftyp(?:hei[cmsx]|hev[cmsx]|mif1|msf1)/.test(latin)),
  {
    ...picture('BMP', ({ latin }) => /^BM[^]{4}\0{4}[^]{3}\0/.test(latin)),
    picture: 'make it a PNG or a JPEG',
  },
  movie('MP4', ({ latin }) => latin.startsWith('ftyp', 4)),
  movie('Matroska or WebM', begins('\x1aE\xdf\xa3')),
  movie('AVI', ({ latin }) => /^RIFF[^]{4}AVI /.test(latin)),
  archive('a file of gzip', begins('\x1f\x8b')),
  archive('a file of zstd', begins('(\xb5/\xfd')),
  archive('a file of bzip2', ({ latin }) => /^BZh[1-9]1AY&SY/.test(latin)),
  archive('a file of xz', begins('\xfd7zXZ\0')),
  archive('a 7z archive', begins("7z\xbc\xaf'\x1c")),
  archive('a tar archive', ({ latin }) => latin.startsWith('ustar', 257)),
  { what: 'a program or a library (ELF)', is: begins('\x7fELF') },
  { what: 'a PDF', is: begins('%PDF') },
  {
    what: 'a web page (HTML)',
    is: ({ text }) => /^<(?:!doctype html|html|head|body)\b/i.test(text ?? ''),
    model: fetched,
    plan: fetched,
    picture: fetched,
  },
  {
    what: 'XML',
    is: ({ text }) => /^<[?!a-z]/i.test(text ?? ''),
    model: 'where it is a model of OpenVINO, export the network to ONNX',
  },
  {
    what: 'JSON',
    is: ({ text }) => /^(?:\{\s*["}]|\[)/.test(text ?? ''),
    model: 'give the file of the model, which is another one',
    plan: 'give the plan itself; FILE.json beside a plan describes it',
  },
]

const onnx: Kind = {
  what: 'an ONNX model',
  is: ({ bytes: [first, version = 0, next = 0] }) =>
    first === 0x08 && version > 0 && version < 64 && next !== first && firstTags.has(next),
  plan: 'trt build makes a plan of it, and Engine.load() takes it as it is',
  picture: toLoad,
}

/**
 * What a file is instead of what was meant, and what to do: "a web page (HTML): the download failed, …". Nothing where
 * it is what was meant, as far as its first bytes tell, or where they tell nothing.
 */
export function otherThan(wanted: Wanted, bytes: Uint8Array): string | undefined {
  const head = headOf(bytes)
  const kind = found(head)
  if (kind === undefined) return head.text && `text that begins with ${JSON.stringify(startOf(head.text))}`
  if (kind === own[wanted]) return undefined
  const remedy = kind[wanted] ?? (wanted === 'plan' ? kind.model : undefined)
  return remedy === undefined ? kind.what : `${kind.what}: ${remedy}`
}

/** The same, where it is known that it is not what was meant: its bytes where they tell nothing else. */
export function foundInstead(wanted: Wanted, bytes: Uint8Array): string {
  if (bytes.length === 0) return 'nothing'
  const first = Buffer.from(bytes.subarray(0, 8)).toString('hex')
  const latin = Buffer.from(bytes.subarray(0, 4)).toString('latin1')
  const isWord = bytes.length < 4 && /^[\t\n\r -~]+$/.test(latin)
  if (isWord) return `text that begins with ${JSON.stringify(startOf(latin))}`
  return otherThan(wanted, bytes) ?? `a file of an unknown kind that begins with the bytes ${first}`
}

const own = { model: onnx, plan, picture: undefined } as const

function found(head: Head): Kind | undefined {
  return [...kinds, onnx].find(({ is }) => is(head))
}

function headOf(bytes: Uint8Array): Head {
  const head = bytes.subarray(0, headBytes)
  return { bytes: head, latin: Buffer.from(head).toString('latin1'), text: textOf(head) }
}

/** UTF-8 without control characters, of which a model has some among its first bytes. */
function textOf(head: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return text.length < 4 || /[\0-\x08\x0e-\x1f\x7f]/.test(text) ? undefined : text.trimStart()
  } catch {
    return undefined
  }
}

function startOf(text: string): string {
  const line = text.split(/[\r\n]/, 1)[0] ?? ''
  return line.length > 40 ? `${line.slice(0, 37)}...` : line
}

/** The name of the first file in a zip archive; empty of what is none. */
function zipped({ bytes, latin }: Head): string {
  if (!latin.startsWith('PK\x03\x04') || bytes.length < 30) return ''
  return latin.slice(30, 30 + bytes[26]! + bytes[27]! * 256)
}
