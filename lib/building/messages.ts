import type {
  CalibrationAnswer,
  CalibrationQuestion,
  NativeBuildRequest,
  NativeBuildResult,
  NativeCalibrationTensor,
} from '../backend/native-types.js'
import type { WireError } from '../base/wire.js'
import type { BuildProgress } from './in-process.js'

/** The file descriptor under which a building process has the file that model and plan go through: after stdin, stdout, stderr and the channel. */
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

/** The answer to what an `ask` asks: a text, or a batch, whose tensors lie behind one another at the beginning of the exchange file, or nothing. */
export interface Given {
  readonly type: 'given'
  readonly text: string | undefined
  readonly batch: readonly GivenTensor[] | undefined
}
export type GivenTensor = Omit<NativeCalibrationTensor, 'data'> & { readonly bytes: number }

/** From it. After `built` the exchange file begins with the plan; without `planBytes` there is none, as only a parse was asked for. */
export type Answer =
  | { readonly type: 'progress'; readonly progress: BuildProgress }
  | { readonly type: 'log'; readonly severity: number; readonly line: string }
  | { readonly type: 'ask'; readonly question: CalibrationQuestion }
  | { readonly type: 'built'; readonly result: Omit<NativeBuildResult, 'plan'>; readonly planBytes: number | undefined }
  | { readonly type: 'failed'; readonly error: WireError }

/** The exchange file, by a FileHandle or by its descriptor. */
export interface Exchange {
  read(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesWritten: number }>
}

/** A read or write of one call; the kernel takes 2 GiB less a page at most. */
const most = 2 ** 30

/** Writes to the file's beginning, or behind what was written there. */
export async function writeStart(file: Exchange, bytes: Uint8Array, start = 0): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, Math.min(most, bytes.length - done), start + done)).bytesWritten
  }
}

/** Reads the file's first bytes, or those from `start` on. @throws Error where it is shorter */
export async function readStart(file: Exchange, length: number, start = 0): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length)
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(bytes, done, Math.min(most, length - done), start + done)
    if (bytesRead === 0) throw new Error(`the file between two processes ended after ${done} of ${length} bytes`)
    done += bytesRead
  }
  return bytes
}

/** The answer as a message; a batch's tensors go into the file. */
export async function given(file: Exchange, answer: CalibrationAnswer): Promise<Given> {
  if (typeof answer !== 'object') return { type: 'given', text: answer, batch: undefined }
  const batch: GivenTensor[] = []
  let start = 0
  for (const { data, ...tensor } of answer) {
    await writeStart(file, data, start)
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
