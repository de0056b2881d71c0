import type { BigIntStats } from 'node:fs'
import { type FileHandle, realpath, stat } from 'node:fs/promises'
import { headBytes } from '../base/file-kinds.js'
import { isLfsPointer } from '../base/lfs.js'
import { TensorRTError } from '../errors.js'
import { isMissing, onFile, openFile } from '../base/files.js'
import { allocated, readFully } from '../base/pieces.js'
import { isError } from '../base/kinds.js'
import { chunkSize, newHash } from './hash.js'
import { type PlanHeader, readPlanHeader, refuseShort } from './header.js'
import { headerInfo, type PlanInfo } from './info.js'
import { isSidecar, parseSidecar, type PlanEntry, type Sidecar, sidecarPath } from './sidecar.js'

export interface ReadOptions {
  /** Whether the bytes are wanted, or the open file of a whole plan; else they are only looked at. */
  readonly keep: boolean | 'open'
  /** Whether the SHA-256 is wanted of a plan without a sidecar too. */
  readonly hash: boolean
  readonly signal?: AbortSignal | undefined
}

/**
 * A plan that is whole, as far as can be known: by the SHA-256 of its sidecar, without one by the size in its header.
 */
export interface ReadPlan {
  readonly size: number
  /** Empty unless they were wanted. */
  readonly bytes: Uint8Array
  /** Empty where it was neither wanted nor needed. */
  readonly sha256: string
  readonly info: PlanInfo
  /** Of its sidecar, where there is one. */
  readonly entry: PlanEntry | undefined
  /** Where it was wanted. */
  readonly file?: OpenPlan | undefined
}

/**
 * The file that a plan was checked in, open until whoever asked for it closes it: TensorRT reads the very file that was
 * hashed, whatever stands at its path by then. Somebody may still write into that file in place, which {@link
 * refuseChanged} notices; this package never does, it renames.
 */
export class OpenPlan {
  readonly #path: string
  readonly #file: FileHandle
  readonly #facts: BigIntStats

  constructor(path: string, file: FileHandle, facts: BigIntStats) {
    this.#path = path
    this.#file = file
    this.#facts = facts
  }

  get descriptor(): number {
    return this.#file.fd
  }

  /** @throws TensorRTError ERR_TRT_PLAN where it was written to since it was opened, which was before it was hashed */
  async refuseChanged(): Promise<void> {
    const { size, mtimeNs } = await this.#file.stat({ bigint: true })
    if (size === this.#facts.size && mtimeNs === this.#facts.mtimeNs) return
    const path = this.#path
    throw new TensorRTError(
      'ERR_TRT_PLAN',
      `${path} was written to while it was read: write plans elsewhere, and rename them`,
      {
        details: { path },
      },
    )
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

/** A file that neither begins as a plan does nor has a sidecar that says it is one. */
export interface OtherFile {
  readonly head: Uint8Array
}

/**
 * Reads a plan, once, and checks it while it comes in. A plan that is replaced meanwhile is read anew.
 * @throws TensorRTError ERR_TRT_PLAN, ERR_TRT_FILE
 */
export async function readPlan(path: string, options: ReadOptions): Promise<ReadPlan | OtherFile> {
  return onFile('read', path, async () => {
    for (;;) {
      const read = await readOnce(path, options)
      if (read !== undefined) return read
      options.signal?.throwIfAborted()
    }
  })
}

export function isPlan(read: ReadPlan | OtherFile): read is ReadPlan {
  return 'bytes' in read
}

/** Nothing where the plan was replaced before it could be held against its sidecar. */
async function readOnce(path: string, options: ReadOptions): Promise<ReadPlan | OtherFile | undefined> {
  const file = await openFile(path)
  let kept = false
  try {
    const facts = await file.stat({ bigint: true })
    const read = await readOpen(path, { file, facts }, options)
    if (options.keep !== 'open' || read === undefined || !isPlan(read)) return read
    kept = true
    return { ...read, file: new OpenPlan(path, file, facts) }
  } finally {
    if (!kept) await file.close()
  }
}

async function readOpen(
  path: string,
  { file, facts }: { readonly file: FileHandle; readonly facts: BigIntStats },
  options: ReadOptions,
): Promise<ReadPlan | OtherFile | undefined> {
  const head = await readHead(file)
  if (isLfsPointer(head)) return { head }
  const header = readPlanHeader(head)
  // after the plan was opened: whatever stands at the path is listed at any moment, see write.ts
  const sidecar = await readSidecar(path)
  if (sidecar === undefined)
    return header === undefined ? { head } : await readBare(path, { file, size: Number(facts.size), header }, options)
  const content = await readContent(file, Number(facts.size), { ...options, hash: true })
  const entry = sidecar.plans.get(content.sha256)
  if (entry !== undefined) return { ...content, info: Object.freeze(entry.info), entry }
  if (await isReplaced(path, facts)) return undefined
  throw notListed(path, { ...content, header }, sidecar)
}

async function readBare(
  path: string,
  { file, size, header }: { readonly file: FileHandle; readonly size: number; readonly header: PlanHeader },
  options: ReadOptions,
): Promise<ReadPlan> {
  refuseShort(path, size, header)
  const content = await readContent(file, size, options)
  refuseShort(path, content.size, header)
  return { ...content, info: headerInfo(header), entry: undefined }
}

async function readHead(file: FileHandle): Promise<Uint8Array> {
  const head = new Uint8Array(headBytes)
  return head.subarray(0, await readFully(file, head))
}

type Content = Pick<ReadPlan, 'size' | 'bytes' | 'sha256'>

/** Chunk by chunk, so that hashing never holds up the event loop, and so that more than 2 GiB can be read. */
async function readContent(
  file: FileHandle,
  size: number,
  { keep: wanted, hash, signal }: ReadOptions,
): Promise<Content> {
  const keep = wanted === true
  // whoever reads the file later reads it then
  if (wanted === 'open' && !hash) return { size, bytes: new Uint8Array(), sha256: '' }
  const bytes = allocated(keep ? size : Math.min(size, chunkSize), 'the plan')
  const sum = hash ? newHash() : undefined
  let done = 0
  while (done < size) {
    signal?.throwIfAborted()
    const at = keep ? done : 0
    const chunk = bytes.subarray(at, at + Math.min(size - done, chunkSize))
    const read = await readFully(file, chunk, done)
    sum?.update(chunk.subarray(0, read))
    done += read
    if (read < chunk.length) break
  }
  return { size: done, bytes: bytes.subarray(0, keep ? done : 0), sha256: sum?.digest('hex') ?? '' }
}

async function isReplaced(path: string, { dev, ino }: BigIntStats): Promise<boolean> {
  try {
    const now = await stat(path, { bigint: true })
    return now.dev !== dev || now.ino !== ino
  } catch (error) {
    if (isMissing(error)) return true
    throw error
  }
}

interface FoundSidecar {
  readonly path: string
  readonly plans: Sidecar
}

/**
 * The sidecar beside a plan, or beside the file that a link leads to. What else has its name is none, and no obstacle.
 */
async function readSidecar(plan: string): Promise<FoundSidecar | undefined> {
  for (const beside of new Set([plan, await realpath(plan)])) {
    const path = sidecarPath(beside)
    const text = await readSidecarText(path)
    if (typeof text === 'string') return { path, plans: parseSidecar(text, path) }
  }
  return undefined
}

/** A sidecar's text; `foreign` where something else stands there; nothing where nothing does. */
export async function readSidecarText(path: string): Promise<string | typeof foreign | undefined> {
  try {
    const file = await openFile(path)
    try {
      // somebody's data may be gigabytes: the beginning tells
      const head = Buffer.alloc(256)
      const { bytesRead } = await file.read(head, 0, head.length, 0)
      if (!isSidecar(head.toString('utf8', 0, bytesRead))) return foreign
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    if (isNoFile(error)) return foreign
    throw error
  }
}

/** What stands in a sidecar's place and is none. */
export const foreign = Symbol('foreign')

/**
 * A folder, a pipe, a link that leads nowhere, a name that is too long for one: none that this package can have
 * written. One that may not be read can be ours: a plan is not taken unchecked then.
 */
function isNoFile(error: unknown): boolean {
  if (error instanceof TensorRTError) return error.code === 'ERR_TRT_FILE'
  const codes = ['ELOOP', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG', 'ENXIO', 'ENODEV']
  return isError(error) && 'code' in error && codes.includes(String(error.code))
}

/** Which of the ways to spoil a plan it looks like. */
function notListed(
  path: string,
  plan: Content & { readonly header: PlanHeader | undefined },
  sidecar: FoundSidecar,
): TensorRTError {
  const { size, sha256, header } = plan
  const listed = [...sidecar.plans].map(([sha256, entry]) => ({ sha256, size: entry.size }))
  const most = Math.max(0, ...listed.map((entry) => entry.size))
  const expectation =
    listed.map((entry) => `${entry.size} bytes with SHA-256 ${entry.sha256}`).join(' or ') || 'no plan'
  const [likely, why] = listed.some((entry) => entry.size === size)
    ? ['damaged', 'is damaged']
    : header?.size === size
      ? [
          'foreign',
          'is another plan than the one that its sidecar describes, though a whole one: it was put there without a sidecar of its own',
        ]
      : size < most
        ? ['truncated', 'is truncated']
        : ['damaged', 'is damaged, or no plan']
  const remedy = likely === 'foreign' ? `. If it is the one that you want, remove ${sidecar.path}` : ''
  return new TensorRTError(
    'ERR_TRT_PLAN',
    `${path} ${why}: ${sidecar.path} lists ${expectation}, and there are ${size} bytes with SHA-256 ${sha256}${remedy}`,
    {
      details: { path, sidecar: sidecar.path, size, sha256, listed, likely },
    },
  )
}
