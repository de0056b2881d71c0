/** Whether a video file on the disk is whole: ffmpeg 5 exits with 0 although the disk is full at its last writes. */
import type { FileHandle } from 'node:fs/promises'
import { openFile } from '../../base/files.js'
import { readFully } from '../../base/pieces.js'
import type { VideoContainer } from './codecs.js'

/** Returns false if the file ends before its container says it does, or has no index. */
export async function isWholeVideo(path: string, container: VideoContainer): Promise<boolean> {
  const file = await openFile(path)
  try {
    const { size } = await file.stat()
    return await (container === 'mp4' || container === 'mov' ? isWholeMp4(file, size) : isWholeMatroska(file, size))
  } finally {
    await file.close()
  }
}

/**
 * Walks the boxes of the file (ISO/IEC 14496-12, section 4.2). The size of `mdat` is 0 until ffmpeg has written
 * everything; `moov`, the index, follows it.
 */
async function isWholeMp4(file: FileHandle, size: number): Promise<boolean> {
  const head = Buffer.alloc(16)
  let hasIndex = false
  let at = 0
  while (at < size) {
    if ((await readFully(file, head, at)) < 8) return false
    const short = head.readUInt32BE(0)
    const length = short === 1 ? Number(head.readBigUInt64BE(8)) : short
    if (length < 8) return false
    hasIndex ||= head.toString('latin1', 4, 8) === 'moov'
    at += length
  }
  return hasIndex && at === size
}

/**
 * Reads the size of the segment (RFC 8794, section 6), which holds everything after the header of the file. It is
 * unknown until ffmpeg has written the segment.
 */
async function isWholeMatroska(file: FileHandle, size: number): Promise<boolean> {
  const header = await elementAt(file, 0)
  const segment = header && (await elementAt(file, header.end))
  return segment?.id === 'matroska segment' && segment.end === size
}

const elementIds: Readonly<Record<string, string>> = { '1a45dfa3': 'header', '18538067': 'matroska segment' }

/** Reads an element whose ID has four bytes; returns nothing if the size is unknown. */
async function elementAt(file: FileHandle, at: number): Promise<{ id: string; end: number } | undefined> {
  const head = Buffer.alloc(12)
  if ((await readFully(file, head, at)) < 12) return undefined
  const id = elementIds[head.toString('hex', 0, 4)]
  const width = Math.clz32(head[4]!) - 23 // the number of leading zeros, and one
  if (id === undefined || width > 8) return undefined
  const mask = (1n << BigInt(7 * width)) - 1n
  const value = BigInt(`0x${head.toString('hex', 4, 4 + width)}`) & mask
  return value === mask ? undefined : { id, end: at + 4 + width + Number(value) }
}
