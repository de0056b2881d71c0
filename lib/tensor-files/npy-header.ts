import { damaged } from './types.js'
import { TensorRTError } from '../errors.js'

/** The dictionary at the beginning of a `.npy`. */
interface NpyHeader {
  readonly descr: string
  readonly fortranOrder: boolean
  readonly shape: readonly number[]
}

type Entries = Partial<Record<'descr' | 'fortran_order' | 'shape', string>>

/** One entry of the dictionary: its value is text, a truth value or a tuple of whole numbers. */
const entry =
  /\s*(['"])(descr|fortran_order|shape)\1\s*:\s*(?:(['"])([^'"\\]*)\3|(True|False)|\(([\d\sL,]*)\))\s*(?:,|$)/y

const literal = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"

/**
 * Reads the Python literal; nothing of it is evaluated.
 * @throws TensorRTError ERR_TRT_FILE, ERR_TRT_DTYPE
 */
export function parseHeader(text: string, name: string): NpyHeader {
  const inner = /^\s*\{([^]*)\}\s*$/.exec(text)?.[1]?.trimEnd()
  if (inner === undefined) throw wrong(text, name)
  if (/(['"])descr\1\s*:\s*[[(]/.test(inner))
    throw new TensorRTError(
      'ERR_TRT_DTYPE',
      `Cannot read ${name}: it has a structured data type (several fields for each element)`,
    )
  const found = entriesOf(inner)
  const shape = found?.shape === undefined ? undefined : dimensionsOf(found.shape)
  if (found?.descr === undefined || found.fortran_order === undefined || shape === undefined) throw wrong(text, name)
  return { descr: found.descr, fortranOrder: found.fortran_order === 'True', shape }
}

/** Each of the three once, each with a value of its kind; nothing where it is otherwise. */
function entriesOf(inner: string): Entries | undefined {
  const found: Entries = {}
  entry.lastIndex = 0
  for (let at = 0; at < inner.length; at = entry.lastIndex) {
    const [, , key, , word, truth, tuple] = entry.exec(inner) ?? []
    if (key === undefined) return undefined
    const value = key === 'descr' ? word : key === 'shape' ? tuple : truth
    if (value === undefined || found[key as keyof typeof found] !== undefined) return undefined
    found[key as keyof typeof found] = value
  }
  return found
}

/** `2, 3`, `2,` or nothing; Python 2 wrote `2L`. One number alone is no tuple in Python. */
function dimensionsOf(tuple: string): number[] | undefined {
  const parts = tuple.split(',').map((part) => part.trim())
  if (parts.length === 1) return parts[0] === '' ? [] : undefined
  if (parts.at(-1) === '') parts.pop()
  return parts.every((part) => /^\d{1,15}L?$/.test(part)) ? parts.map((part) => parseInt(part, 10)) : undefined
}

function wrong(text: string, name: string): TensorRTError {
  const shown = text.length > 120 ? `${text.slice(0, 117)}...` : text
  return damaged(name, `expected a header like ${literal} but found ${JSON.stringify(shown.trimEnd())}`)
}

/** The whole beginning of a file, with its padding: data begins at a multiple of 64 bytes. */
export function headerBytes({ descr, shape }: Pick<NpyHeader, 'descr' | 'shape'>): Uint8Array {
  const tuple = shape.length === 1 ? `(${shape[0]!},)` : `(${shape.join(', ')})`
  const dictionary = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${tuple}, }`
  const prefix = 10
  const length = Math.ceil((prefix + dictionary.length + 1) / 64) * 64 - prefix
  const bytes = Buffer.alloc(prefix + length, ' ')
  bytes.write('\x93NUMPY\x01\x00', 'latin1')
  bytes.writeUInt16LE(length, 8)
  bytes.write(dictionary, prefix, 'latin1')
  bytes[bytes.length - 1] = 10 // a line break
  return bytes
}
