import type { NativeBuildRequest, NativeParseResult } from '../backend/native-types.js'
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

/** From it. After `built` the exchange file begins with the plan; without `planBytes` there is none, as only a parse was asked for. */
export type Answer =
  | { readonly type: 'progress'; readonly progress: BuildProgress }
  | { readonly type: 'log'; readonly severity: number; readonly line: string }
  | { readonly type: 'built'; readonly result: NativeParseResult; readonly planBytes: number | undefined }
  | { readonly type: 'failed'; readonly error: WireError }

/** The exchange file, by a FileHandle or by its descriptor. */
export interface Exchange {
  read(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesWritten: number }>
}

/** A read or write of one call; the kernel takes 2 GiB less a page at most. */
const most = 2 ** 30

/** Writes to the file's beginning. */
export async function writeStart(file: Exchange, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, Math.min(most, bytes.length - done), done)).bytesWritten
  }
}

/** Reads the file's first bytes. @throws Error where it is shorter */
export async function readStart(file: Exchange, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length)
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(bytes, done, Math.min(most, length - done), done)
    if (bytesRead === 0) throw new Error(`the file between two processes ended after ${done} of ${length} bytes`)
    done += bytesRead
  }
  return bytes
}
