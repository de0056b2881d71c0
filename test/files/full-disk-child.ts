// The child of full-disk.slow.test.ts, where a small file system is mounted: GROUP DISK FOLDER. Prints the outcome of
// each call as JSON. FOLDER has room.
import { mkdir, open, readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { argv } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { cacheRounds } from './full-disk-caches.js'
import { videoRounds } from './full-disk-videos.js'
import { writerRounds } from './full-disk-writers.js'

/** The outcome of one call on a disk with `free` bytes left. */
export interface Round {
  readonly what: string
  readonly free: number
  /** `done`, or the code of the error; it begins with "untyped" if it is no TensorRTError. */
  readonly code: string
  readonly message: string
  readonly details: unknown
  /** The value that the call resolved with. */
  readonly value: unknown
  /** Names of the files that the call left, except locks. */
  readonly files: readonly string[]
  /** Whether the files of `old` have the same content. */
  readonly isOldKept: boolean
  readonly warnings: readonly string[]
}

export interface RoundOptions {
  /** Names of files that exist before the call. */
  readonly old?: readonly string[]
  /** Whether to keep the files of the previous round. */
  readonly again?: boolean
}

export interface Place {
  /** The folder of the small file system. */
  readonly disk: string
  /** A folder with room. */
  readonly folder: string
  readonly round: (what: string, free: number, call: () => Promise<unknown>, options?: RoundOptions) => Promise<Round>
}

const filler = 'filler'
const [group = '', disk = '', folder = ''] = argv.slice(2)
const warnings: string[] = []
process.on('warning', ({ code, message }: Error & { code?: string }) => warnings.push(`${code}: ${message}`))

const namesIn = async (): Promise<string[]> =>
  (await readdir(disk, { recursive: true })).filter((name) => name !== filler && !name.endsWith('.lock')).sort()

async function fill(free: number): Promise<void> {
  await using file = await open(join(disk, filler), 'w')
  const { bavail, bsize } = await statfs(disk)
  await file.write(new Uint8Array(Math.max(0, bavail * bsize - free)))
}

async function outcomeOf(call: () => Promise<unknown>): Promise<Pick<Round, 'code' | 'message' | 'details' | 'value'>> {
  try {
    return { code: 'done', message: '', details: undefined, value: await call() }
  } catch (error) {
    const { name, code, message, details } = error as Error & { code?: string; details?: unknown }
    return { code: name === 'TensorRTError' ? `${code}` : `untyped ${code}`, message, details, value: undefined }
  }
}

const place: Place = {
  disk,
  folder,
  round: async (what, free, call, { old = [], again = false } = {}) => {
    if (!again) for (const name of await readdir(disk)) await rm(join(disk, name), { recursive: true, force: true })
    for (const name of old) await writeFile(join(disk, name), 'old')
    await fill(free)
    warnings.length = 0
    const outcome = await outcomeOf(call)
    await sleep(5) // warnings come in a later tick
    const texts = await Promise.all(old.map((name) => readFile(join(disk, name), 'utf8').catch(() => 'gone')))
    const isOldKept = texts.every((text) => text === 'old')
    const files = (await namesIn()).filter((name) => !old.includes(name))
    return { what, free, ...outcome, files, isOldKept, warnings: [...warnings] }
  },
}

const groups: Readonly<Record<string, (place: Place) => Promise<readonly Round[]>>> = {
  writers: writerRounds,
  videos: videoRounds,
  caches: cacheRounds,
}
await mkdir(folder, { recursive: true })
process.stdout.write(JSON.stringify(await groups[group]?.(place)))
