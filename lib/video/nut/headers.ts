import { damaged, Fields, flag, limited, startcodes } from './fields.js'

/** Bytes of a frame. */
export const mostFrameBytes = 1n << 29n
/** Pixels along a side. */
const mostAlong = 1 << 15

const most32 = 2 ** 31 - 1

/** What one byte says of a frame. */
export interface FrameCode {
  readonly flags: bigint
  readonly ptsDelta: bigint
  readonly stream: bigint
  readonly sizeMul: bigint
  readonly sizeLsb: bigint
  readonly reserved: number
  readonly header: bigint
}

/** The one stream. A tick in seconds is num / den. */
export interface NutStream {
  readonly width: number
  readonly height: number
  readonly num: bigint
  readonly den: bigint
  readonly frameBytes: number
}

export interface Headers {
  readonly stream: NutStream
  readonly timeBases: readonly (readonly [num: bigint, den: bigint])[]
  readonly codes: readonly FrameCode[]
  /** First bytes of frames that do not stand with them. */
  readonly elided: readonly Uint8Array[]
  readonly msbShift: bigint
}

const invalid: FrameCode = {
  ...{ flags: flag.invalid, ptsDelta: 0n, stream: 0n },
  ...{ sizeMul: 1n, sizeLsb: 0n, reserved: 0, header: 0n },
}

/** Of the packets before the first frame. @throws TensorRTError ERR_TRT_VIDEO_DATA */
export function readHeaders(packets: readonly { readonly code: bigint; readonly body: Uint8Array }[]): Headers {
  const bodies = (code: bigint): Uint8Array[] =>
    packets.filter((packet) => packet.code === code).map(({ body }) => body)
  const [main, ...otherMains] = bodies(startcodes.main)
  const [stream, ...otherStreams] = bodies(startcodes.stream)
  const order = packets.map(({ code }) => code)
  if (main === undefined || otherMains.length > 0) throw damaged('there is not one main header')
  if (
    stream === undefined ||
    otherStreams.length > 0 ||
    order.indexOf(startcodes.stream) < order.indexOf(startcodes.main)
  )
    throw damaged('there is not one stream')
  const { timeBases, codes, elided } = readMain(fieldsOf(main))
  return { timeBases, codes, elided, ...readStream(fieldsOf(stream), timeBases) }
}

/** Of a whole header. */
export function fieldsOf(body: Uint8Array): Fields {
  return new Fields(body, () => damaged('a header ends within a number'))
}

function readMain(fields: Fields): Pick<Headers, 'timeBases' | 'codes' | 'elided'> {
  if (fields.varint() !== 3n) throw damaged('they are of another version of NUT than 3')
  if (fields.varint() !== 1n) throw damaged('there is not one stream')
  fields.varint() // how far apart syncpoints are
  const count = fields.whole(64, 'the number of time bases')
  if (count === 0) throw damaged('there is no time base')
  const timeBases = Array.from({ length: count }, () => {
    const num = fields.limited(BigInt(most32), 'a time base')
    const den = fields.limited(BigInt(most32), 'a time base')
    if (num === 0n || den === 0n) throw damaged('a time base is 0')
    return [num, den] as const
  })
  const codes = readFrameCodes(fields)
  const elided: Uint8Array[] = [new Uint8Array(0)]
  if (!fields.isAtEnd) {
    const headers = fields.whole(127, 'the number of elided headers')
    for (let i = 0; i < headers; i++) elided.push(fields.bytes(fields.whole(255, 'an elided header')).slice())
  }
  return { timeBases, codes, elided }
}

function readFrameCodes(fields: Fields): FrameCode[] {
  const codes: FrameCode[] = []
  let last = invalid
  const skipN = (): void => {
    if (codes.length === 0x4e) codes.push(invalid)
  }
  while (codes.length < 256) {
    const flags = fields.varint()
    const given = fields.whole(64, 'the number of fields of a frame code')
    const ptsDelta = given > 0 ? fields.signed() : last.ptsDelta
    const sizeMul = given > 1 ? fields.limited(BigInt(most32), 'a factor of sizes') : last.sizeMul
    const stream = given > 2 ? fields.varint() : last.stream
    const sizeLsb = given > 3 ? fields.limited(BigInt(most32), 'a size') : 0n
    const reserved = given > 4 ? fields.whole(256, 'a number of reserved fields') : 0
    const count = given > 5 ? fields.varint() : sizeMul - sizeLsb
    if (given > 6) fields.signed()
    const header = given > 7 ? fields.varint() : last.header
    for (let i = 8; i < given; i++) fields.varint()
    const room = 256 - codes.length - (codes.length <= 0x4e ? 1 : 0)
    if (count <= 0n || count > BigInt(room)) throw damaged('there are not 255 frame codes')
    last = { flags, ptsDelta, stream, sizeMul, sizeLsb, reserved, header }
    for (let i = 0n; i < count; i++) {
      skipN()
      codes.push({ ...last, sizeLsb: sizeLsb + i })
    }
    skipN()
  }
  return codes
}

function readStream(fields: Fields, timeBases: Headers['timeBases']): Pick<Headers, 'stream' | 'msbShift'> {
  if (fields.varint() !== 0n) throw damaged("the stream's number is not 0")
  if (fields.varint() !== 0n) throw damaged('the stream is no video')
  const format = Buffer.from(fields.bytes(fields.whole(16, 'the name of a format'))).toString('latin1')
  if (format !== 'I420') throw damaged('the frames are not I420')
  const [num, den] = timeBases[fields.whole(timeBases.length - 1, 'the number of a time base')]!
  const msbShift = fields.limited(61n, 'the size of a time stamp')
  fields.varint() // the longest time between frames
  fields.varint() // how many frames a decoder delays
  fields.varint() // flags
  fields.bytes(fields.whole(1 << 16, "a codec's own header"))
  const width = fields.whole(mostAlong, 'the width')
  const height = fields.whole(mostAlong, 'the height')
  if (width === 0 || height === 0) throw damaged('the frames have no size')
  const frameBytes = width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2)
  limited(BigInt(frameBytes), mostFrameBytes, 'the size of a frame')
  return { stream: { width, height, num, den, frameBytes }, msbShift }
}
