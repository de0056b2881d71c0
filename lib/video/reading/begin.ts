import { onAbort } from '../../base/cancellation.js'
import { expected, TensorRTError } from '../../errors.js'
import { probeInput, probeVideo, type VideoInfo } from '../probe.js'
import { withBytes } from '../programs/bytes.js'
import { connectionOf, listens } from '../programs/connections.js'
import { findPrograms, type Programs } from '../programs/find.js'
import { deviceInput, type Input, isDevice, pipeInput } from '../programs/inputs.js'
import { atOnce } from './arguments.js'
import { DecodedFrames, type FrameStream } from './decoded.js'
import { Decoder } from './decoder.js'
import type { Decoding, Manner } from './decoding.js'
import { FrameMaker } from './frame-maker.js'
import { GivenFrames, givenName } from './given.js'
import { decoderFor, type VideoDecoder } from './hardware.js'
import { infoOfFrame, unprobedInfo } from './infos.js'
import { LiveFrames } from './live.js'
import type { Reading } from './options.js'
import { headOf, withHead } from './pieces.js'
import type { Opened } from './sources.js'

/** A video that is open. */
export interface Begun {
  readonly name: string
  readonly info: VideoInfo
  readonly decoder: VideoDecoder
  readonly live: boolean
  readonly frames: FrameStream
}

/** What ffmpeg reads. */
interface Source extends Pick<Decoding, 'input' | 'stdin' | 'more' | 'manner'> {
  /** What ffprobe looks at; undefined of what can be opened once. */
  readonly probed: string | Uint8Array | Input | undefined
  /** Whether there may be another connection. */
  readonly isConnection: boolean
  readonly listens: boolean
}

const plain = { stdin: undefined, more: [], isConnection: false, listens: false } as const

/**
 * @throws TensorRTError ERR_TRT_VIDEO_PROGRAM, ERR_TRT_VIDEO_DATA, ERR_TRT_FILE, ERR_TRT_INVALID_ARGUMENT; the signal's
 * reason
 */
export async function beginReading(source: Opened, reading: Reading): Promise<Begun> {
  if (source.kind === 'frames') return ofFrames(source, reading)
  if (source.kind === 'input') return decoded(ofInput(source.input, reading), reading)
  if (reading.listen === true) throw expected('nothing of bytes', 'listen', true)
  if (source.kind === 'bytes') return ofBytes(source.bytes, reading)
  const input = pipeInput('the video of a stream')
  if (reading.live === true) {
    const stdin = withHead(source.first, source.pieces)
    return decoded({ ...plain, input, stdin, manner: 'live', probed: undefined }, reading)
  }
  const { head, pieces } = await headOf(source.first, source.pieces)
  const first = Buffer.concat(head)
  if (pieces === undefined) return ofBytes(first, reading)
  return decoded({ ...plain, input, stdin: withHead(first, pieces), manner: 'recorded', probed: first }, reading)
}

function ofInput(input: Input, reading: Reading): Source {
  const { live, listen } = reading
  if (isDevice(input.path)) {
    const device = deviceInput(input.path)
    return {
      ...plain,
      input: device,
      manner: live === false ? 'recorded' : 'live',
      probed: undefined,
      isConnection: true,
    }
  }
  if (input.path !== undefined) {
    if (listen === true) throw expected('nothing of a file', 'listen', true)
    return { ...plain, input, manner: live === true ? 'paced' : 'recorded', probed: input.path }
  }
  const isListening = listens(input.url, listen)
  const connection = connectionOf(input, reading)
  const probed = isListening
    ? undefined
    : live === true
      ? { ...connection, options: [...atOnce, ...connection.options] }
      : connection
  return {
    ...plain,
    input: connection,
    manner: live === true ? 'live' : 'recorded',
    probed,
    isConnection: true,
    listens: isListening,
  }
}

function ofBytes(bytes: Uint8Array, reading: Reading): Promise<Begun> {
  const manner: Manner = reading.live === true ? 'paced' : 'recorded'
  return withBytes(bytes, ({ input, stdin, more }) =>
    decoded({ ...plain, input, stdin: stdin && withHead(stdin, undefined), more, manner, probed: bytes }, reading),
  )
}

async function decoded(source: Source, reading: Reading): Promise<Begun> {
  const { input, stdin, manner } = source
  const { signal, ffmpeg } = reading
  try {
    refuseParts(source, reading)
    const programs = await findPrograms({ ffmpeg, signal })
    const info = await probedInfo(source, programs, reading)
    refuseHdr(input.name, info)
    const decoder = await decoderFor(reading.hardware, programs.ffmpeg, signal)
    signal?.throwIfAborted()
    const onFull = reading.onFull ?? (manner === 'recorded' ? 'wait' : 'drop-oldest')
    const { more } = source
    const decoding = {
      input,
      manner,
      stdin,
      more,
      info,
      reading,
      onFull,
      ffmpeg: programs.ffmpeg,
      hardware: decoder.hardware,
    }
    const opened = await openedFrames(source, decoding)
    return { ...opened, name: input.name, decoder, live: manner !== 'recorded' }
  } catch (error) {
    await stdin?.return?.()
    throw error
  }
}

async function probedInfo(
  { probed }: Source,
  { ffprobe }: Programs,
  { signal, ffmpeg }: Reading,
): Promise<VideoInfo | undefined> {
  if (probed === undefined) return undefined
  if (typeof probed === 'string' || probed instanceof Uint8Array) return probeVideo(probed, { signal, ffmpeg })
  return probeInput(ffprobe, { input: probed, stdin: undefined, more: [] }, signal)
}

async function openedFrames(source: Source, decoding: Decoding): Promise<Pick<Begun, 'info' | 'frames'>> {
  const { input, reading, manner } = decoding
  const first = await Decoder.start(decoding)
  const info = manner !== 'live' && decoding.info !== undefined ? decoding.info : await begun(first, decoding)
  const maker = new FrameMaker(info, input.name, reading.decode)
  if (manner !== 'live') return { info, frames: new DecodedFrames(first, maker, reading.every) }
  const reconnect = source.isConnection ? reading.reconnect : undefined
  const { onGap } = reading
  return { info, frames: new LiveFrames({ decoding, reconnect, listens: source.listens, onGap }, first, maker) }
}

/**
 * Once the first frame is about to come. What was probed stays; else its header tells. @throws TensorRTError
 * ERR_TRT_VIDEO_DATA; the signal's reason
 */
async function begun(decoder: Decoder, { input, info, reading }: Decoding): Promise<VideoInfo> {
  const forget = onAbort(reading.signal, () => void decoder.close())
  try {
    const stream = await decoder.header()
    reading.signal?.throwIfAborted()
    if (stream === undefined)
      throw new TensorRTError('ERR_TRT_VIDEO_DATA', `${input.name} ended before its first frame`)
    return info ?? unprobedInfo(stream)
  } catch (error) {
    await decoder.close()
    throw error
  } finally {
    forget()
  }
}

/** A camera has neither beginning nor end. */
function refuseParts({ manner }: Source, reading: Reading): void {
  if (manner !== 'live') return
  for (const name of ['start', 'end'] as const)
    if (reading[name] !== undefined) throw expected('nothing of a live source', name, reading[name])
}

function refuseHdr(name: string, info: VideoInfo | undefined): void {
  if (info?.hdr === undefined) return
  const { hdr } = info
  const message = `${name} is of high dynamic range (${hdr}), which 8 bits cannot show as it is: convert it with ffmpeg's filters zscale and tonemap first`
  throw new TensorRTError('ERR_TRT_VIDEO_DATA', message, { details: { hdr } })
}

/** What only ffmpeg does. */
const ofDecoders = ['decode', 'scale', 'hardware', 'live', 'onFull', 'listen'] as const
const unasked = {
  decode: 'all',
  scale: undefined,
  hardware: 'none',
  live: undefined,
  onFull: undefined,
  listen: undefined,
} as const

function ofFrames({ first, frames }: Extract<Opened, { kind: 'frames' }>, reading: Reading): Begun {
  const asked = ofDecoders.find((name) => reading[name] !== unasked[name])
  if (asked !== undefined)
    throw expected('nothing, since frames that were handed in are not decoded,', asked, reading[asked])
  const stream = new GivenFrames(first, frames, reading)
  const decoder: VideoDecoder = { hardware: 'none', reason: undefined }
  return { name: givenName, info: infoOfFrame(first), decoder, live: false, frames: stream }
}
