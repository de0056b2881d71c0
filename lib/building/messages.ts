import type {
  CalibrationAnswer,
  CalibrationQuestion,
  NativeBuildRequest,
  NativeBuildResult,
  NativeCalibrationTensor,
} from '../backend/native-types.js'
import { type Readable, readFully, type Writable, writeFully } from '../base/pieces.js'
import type { WireError } from '../base/wire.js'
import type { BuildProgress } from './in-process.js'

/**
 * The file descriptor under which a building process has the file that model and plan go through: after stdin, stdout,
 * stderr and the channel.
 */
export const exchangeDescriptor = 4

/** To the building process. */
export type Order =
  | {
      readonly type: 'build'
      readonly request: Omit<NativeBuildRequest, 'model'>
      /** How much of the exchange file is the model; none where the request has a path. */
      readonly modelBytes: number | undefined
      /** Paths of the request are relative to it. */
      readonly cwd: string
      readonly logLevel: number
    }
  | { readonly type: 'logLevel'; readonly logLevel: number }
  | Given

/**
 * The answer to what an `ask` asks: a text, or a batch, whose tensors lie behind one another at the beginning of the
 * exchange file, or nothing.
 */
export interface Given {
  readonly type: 'given'
  readonly text: string | undefined
  readonly batch: readonly GivenTensor[] | undefined
}
export type GivenTensor = Omit<NativeCalibrationTensor, 'data'> & { readonly bytes: number }

/**
 * From it. After `built` the exchange file begins with the plan; without `planBytes` there is none, as only a parse was
 * asked for.
 */
export type Answer =
  | { readonly type: 'progress'; readonly progress: BuildProgress }
  | { readonly type: 'log'; readonly severity: number; readonly line: string }
  | { readonly type: 'ask'; readonly question: CalibrationQuestion }
  | { readonly type: 'built'; readonly result: Omit<NativeBuildResult, 'plan'>; readonly planBytes: number | undefined }
  | { readonly type: 'failed'; readonly error: WireError }

/** The exchange file, by a FileHandle or by its descriptor. */
export type Exchange = Readable & Writable

/** Reads the file's first bytes, or those from `start` on. @throws Error where it is shorter */
export async function readStart(file: Exchange, length: number, start = 0): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length)
  const done = await readFully(file, bytes, start)
  if (done < length) throw new Error(`the file between two processes ended after ${done} of ${length} bytes`)
  return bytes
}

/** The answer as a message; a batch's tensors go into the file. */
export async function given(file: Exchange, answer: CalibrationAnswer): Promise<Given> {
  if (typeof answer !== 'object') return { type: 'given', text: answer, batch: undefined }
  const batch: GivenTensor[] = []
  let start = 0
  for (const { data, ...tensor } of answer) {
    await writeFully(file, data, start)
    start += data.length
    batch.push({ ...tensor, bytes: data.length })
  }
  return { type: 'given', text: undefined, batch }
}

/** The answer that a message tells. */
export async function received(file: Exchange, { text, batch }: Given): Promise<CalibrationAnswer> {
  if (batch === undefined) return text
  const tensors: NativeCalibrationTensor[] = []
  let start = 0
  for (const { bytes, ...tensor } of batch) {
    tensors.push({ ...tensor, data: await readStart(file, bytes, start) })
    start += bytes
  }
  return tensors
}
