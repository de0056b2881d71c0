import { crc32, fileId, flag, startcodes } from './fields.js'

/** What a stream of raw frames is, for its header. */
export interface NutStream {
  /** In pixels, as the frames lie in memory. */
  readonly width: number
  readonly height: number
  readonly format: keyof typeof fourcc
  /** The seconds of a tick, as a fraction. */
  readonly timeBase: readonly [numerator: number, denominator: number]
}

/** How ffmpeg names the layouts of raw frames (libavcodec's raw.c, and in NUT nut.c). */
const fourcc = {
  i420: 'I420',
  nv12: 'NV12',
  rgb: 'RGB\x18',
  bgr: 'BGR\x18',
  rgba: 'RGBA',
  bgra: 'BGRA',
  gray: 'Y800',
} as const

/** The only frame code that is used: a frame with its pts, its size and a checksum of its header. */
const frameCode = 1

/** A pts is written whole: ticks + 2^7, which tells it from one of which only the lowest 7 bits are there. */
const ptsShift = 7

/**
 * Raw frames as NUT (https://ffmpeg.org/nut.html, version 3), for ffmpeg's stdin: what comes before a frame's pixels,
 * which are written as they are. One stream, every frame a key frame with a sync point, as ffmpeg writes it.
 */
export class NutWriter {
  readonly #stream: NutStream
  #isBegun = false

  constructor(stream: NutStream) {
    this.#stream = stream
  }

  /** What is written before so many bytes of a frame. `ticks` is at least 0 and above the last frame's. */
  before(ticks: bigint, bytes: number): Uint8Array {
    const parts = [sync(ticks), frame(ticks, bytes)]
    if (!this.#isBegun) parts.unshift(head(this.#stream))
    this.#isBegun = true
    return Buffer.concat(parts)
  }
}

function head(stream: NutStream): Uint8Array {
  return Buffer.concat([
    fileId,
    packet(startcodes.main, mainHeader(stream)),
    packet(startcodes.stream, streamHeader(stream)),
  ])
}

function mainHeader({ timeBase: [numerator, denominator] }: NutStream): Uint8Array {
  const ours = flag.key | flag.codedPts | flag.sizeMsb | flag.checksum
  // flags, number of fields, pts, multiplier, stream, size, reserved, count
  const codes = [
    [flag.invalid, 6, 0, 1, 0, 0, 0, 1],
    [ours, 6, 0, 1, 0, 0, 0, 1],
    [flag.invalid, 6, 0, 1, 0, 0, 0, 253], // with "N", which no frame begins with, 256 in all
  ]
  const [version, streams, maxDistance, timeBases, elisions] = [3, 1, 65_536, 1, 0]
  return numbers(version, streams, maxDistance, timeBases, numerator, denominator, ...codes.flat(), elisions)
}

function streamHeader({ width, height, format }: NutStream): Uint8Array {
  const tag = Buffer.from(fourcc[format], 'latin1')
  const [stream, video, timeBase, maxPtsDistance, decodeDelay, flags, extraBytes] = [0, 0, 0, 0, 0, 0, 0]
  const [aspectWidth, aspectHeight, colours] = [0, 0, 0]
  const picture = [width, height, aspectWidth, aspectHeight, colours]
  return Buffer.concat([
    numbers(stream, video, tag.length),
    tag,
    numbers(timeBase, ptsShift, maxPtsDistance, decodeDelay, flags, extraBytes, ...picture),
  ])
}

/** With the time of its frame; where the one before it lies no pipe needs to know. */
function sync(ticks: bigint): Uint8Array {
  return packet(startcodes.syncpoint, Buffer.concat([number(ticks), numbers(0)]))
}

function frame(ticks: bigint, bytes: number): Uint8Array {
  return withChecksum(
    Buffer.concat([Uint8Array.of(frameCode), number(ticks + (1n << BigInt(ptsShift))), numbers(bytes)]),
  )
}

function packet(code: bigint, content: Uint8Array): Uint8Array {
  const begin = Buffer.alloc(8)
  begin.writeBigUInt64BE(code)
  return Buffer.concat([begin, numbers(content.length + 4), withChecksum(content)])
}

function withChecksum(bytes: Uint8Array): Uint8Array {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes))
  return Buffer.concat([bytes, sum])
}

function numbers(...values: readonly (number | bigint)[]): Uint8Array {
  return Buffer.concat(values.map((value) => number(BigInt(value))))
}

/** NUT's numbers: 7 bits a byte, the highest first, each but the last with its eighth bit set. */
function number(value: bigint): Uint8Array {
  const bytes = [Number(value & 127n)]
  for (let rest = value >> 7n; rest > 0n; rest >>= 7n) bytes.unshift(Number(rest & 127n) | 128)
  return Uint8Array.from(bytes)
}
