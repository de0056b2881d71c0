import { TensorRTError } from '../../errors.js'
import type { Pieces } from './bytes.js'
import { crc32, damaged, Fields, fileId, flag, limited, mostTime, needsMore, startcodes } from './fields.js'
import { fieldsOf, type Headers, mostFrameBytes, readHeaders } from './headers.js'

/** A frame of a stream of raw I420 frames. */
export interface NutFrame {
  /** In ticks of the stream's time base. */
  readonly pts: bigint
  readonly data: Uint8Array
}

const mostPacket = 1 << 16
const longHeader = 4096
const mostReserved = 256

/**
 * NUT, as ffmpeg writes it for one stream of raw I420 frames, for a process without the addon: native/video/nut.cc
 * reads the same, and refuses the same. No number is believed before it is held against a limit.
 * @see https://ffmpeg.org/~michael/nut.txt
 */
export class NutReader {
  readonly #pieces: Pieces
  #headers: Headers | undefined
  #lastPts = 0n

  constructor(pieces: Pieces) {
    this.#pieces = pieces
  }

  /** Once it has begun. */
  get stream(): Headers['stream'] | undefined {
    return this.#headers?.stream
  }

  /** Once, first. Nothing where there are no bytes at all. @throws TensorRTError ERR_TRT_VIDEO_DATA, as next() does */
  async begin(): Promise<Headers['stream'] | undefined> {
    const first = await this.#idOrNothing()
    if (!first) return undefined
    const packets: { readonly code: bigint; readonly body: Uint8Array }[] = []
    for (;;) {
      const { code, body } = await this.#read((fields) => packetOf(fields))
      if (code === startcodes.syncpoint) {
        this.#headers = readHeaders(packets)
        this.#synchronize(body)
        return this.#headers.stream
      }
      if (code === startcodes.index) throw damaged('there is an index before any frame')
      packets.push({ code, body: body.slice() })
      if (packets.length > 64) throw damaged('there is no frame')
    }
  }

  /** Nothing at the index, which is the end. */
  async next(): Promise<NutFrame | undefined> {
    for (;;) {
      const found = await this.#read((fields) => {
        const code = fields.byte()
        if (code !== 0x4e) return this.#frame(fields, code)
        fields.at = 0
        return startcodeOf(fields) === startcodes.index ? undefined : packetOf(rewound(fields))
      })
      if (found === undefined) {
        await this.#pieces.drain()
        return undefined
      }
      if ('pts' in found) return this.#payload(found)
      if (found.code === startcodes.syncpoint) this.#synchronize(found.body)
    }
  }

  async #idOrNothing(): Promise<boolean> {
    while (this.#pieces.buffered.length === 0) if (!(await this.#pieces.more())) return false
    await this.#read((fields) => {
      for (const byte of fileId) if (fields.byte() !== byte) throw damaged('they do not begin as NUT does')
    })
    return true
  }

  /** Reads what is in the buffer, and again with more where that is not all of it. */
  async #read<T>(body: (fields: Fields) => T): Promise<T> {
    for (;;) {
      const fields = new Fields(this.#pieces.buffered, () => needsMore)
      try {
        const value = body(fields)
        this.#pieces.skip(fields.at)
        return value
      } catch (error) {
        if (error !== needsMore) throw error
        if (!(await this.#pieces.more()))
          throw new TensorRTError('ERR_TRT_VIDEO_DATA', 'The frames that ffmpeg gave end too early')
      }
    }
  }

  #synchronize(body: Uint8Array): void {
    const { stream, timeBases } = this.#headers!
    const time = fieldsOf(body).limited(mostTime, 'a time stamp')
    const [num, den] = timeBases[Number(time % BigInt(timeBases.length))]!
    const ticks = ((time / BigInt(timeBases.length)) * num * stream.den) / (den * stream.num) // rounded down
    this.#lastPts = limited(ticks, mostTime, 'a time stamp')
  }

  #frame(fields: Fields, first: number): { readonly pts: bigint; readonly elided: Uint8Array } {
    const { stream, codes, elided } = this.#headers!
    const known = codes[first]!
    if ((known.flags & flag.invalid) !== 0n) throw damaged('a frame has a code that means nothing')
    let flags = known.flags
    if ((flags & flag.coded) !== 0n) flags ^= fields.varint()
    const has = (which: bigint): boolean => (flags & which) !== 0n
    if (has(flag.sideData | flag.invalid)) throw damaged('a frame has flags that ffmpeg does not set')
    if ((has(flag.streamId) ? fields.varint() : known.stream) !== 0n) throw damaged('a frame is of another stream')
    const pts = has(flag.codedPts)
      ? this.#ptsOf(fields.limited(mostTime, 'a time stamp'))
      : this.#lastPts + known.ptsDelta
    if (pts > mostTime || pts < -mostTime) throw damaged('a time stamp is too large')
    let size = known.sizeLsb
    if (has(flag.sizeMsb)) {
      const msb = fields.limited(mostFrameBytes, 'the size of a frame')
      size = limited(size + known.sizeMul * msb, mostFrameBytes, 'the size of a frame')
    }
    if (has(flag.matchTime)) fields.varint()
    let header = has(flag.headerIndex) ? fields.varint() : known.header
    const reserved = has(flag.reserved) ? fields.whole(mostReserved, 'a number of fields') : known.reserved
    for (let i = 0; i < reserved; i++) fields.varint()
    if (header >= BigInt(elided.length)) throw damaged('a frame names an elided header that is not there')
    if (size > BigInt(longHeader)) header = 0n
    if (has(flag.checksum)) {
      fields.bytes(4)
      if (fields.checksum !== 0) throw damaged("the checksum of a frame's header is wrong")
    }
    const prefix = elided[Number(header)]!
    if (size !== BigInt(stream.frameBytes) || prefix.length > stream.frameBytes)
      throw damaged(`a frame has ${String(size)} bytes, where ${stream.frameBytes} are one`)
    return { pts, elided: prefix }
  }

  /** The full time stamp, of which only the lower bits stand there where it is near the last one. */
  #ptsOf(coded: bigint): bigint {
    const full = 1n << this.#headers!.msbShift
    if (coded >= full) return coded - full
    const mask = full - 1n
    const least = this.#lastPts - mask / 2n
    return BigInt.asIntN(64, ((coded - least) & mask) + least)
  }

  async #payload({ pts, elided }: { readonly pts: bigint; readonly elided: Uint8Array }): Promise<NutFrame> {
    this.#lastPts = pts
    const data = new Uint8Array(this.#headers!.stream.frameBytes)
    data.set(elided)
    if (!(await this.#pieces.fill(data.subarray(elided.length))))
      throw new TensorRTError('ERR_TRT_VIDEO_DATA', 'The frames that ffmpeg gave end within a frame')
    return { pts, data }
  }
}

function startcodeOf(fields: Fields): bigint {
  return Buffer.from(fields.bytes(8)).readBigUInt64BE()
}

function rewound(fields: Fields): Fields {
  fields.at = 0
  return fields
}

/** What follows a startcode, without its checksum, which is right. */
function packetOf(fields: Fields): { readonly code: bigint; readonly body: Uint8Array } {
  const code = startcodeOf(fields)
  if (!Object.values(startcodes).includes(code)) throw damaged('there is no header or frame where one is expected')
  const size = code === startcodes.index ? 4 : fields.whole(mostPacket, 'the length of a header')
  if (size < 4) throw damaged('a header has no checksum')
  if (size > longHeader) {
    fields.bytes(4)
    if (fields.checksum !== 0) throw damaged("the checksum of a header's length is wrong")
  }
  const body = fields.bytes(size)
  if (code !== startcodes.index && crc32(body) !== 0) throw damaged('the checksum of a header is wrong')
  return { code, body: body.subarray(0, -4) }
}
