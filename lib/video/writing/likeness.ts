import { isThere } from '../../base/files.js'
import { expected, TensorRTError } from '../../errors.js'
import type { VideoInfo } from '../info.js'
import { probeVideo } from '../probe.js'
import { checkedInput, type Input } from '../programs/inputs.js'
import type { Writing } from './options.js'

/**
 * What the source says, and where its sounds are.
 * @throws TensorRTError those of probeVideo; ERR_TRT_INVALID_ARGUMENT of HDR, and of sounds that lie in no file
 */
export async function likeness({
  like,
  audio,
  ffmpeg,
  signal,
}: Writing): Promise<{ info: VideoInfo | undefined; sounds: Input | undefined }> {
  if (like === undefined) return { info: undefined, sounds: undefined }
  const isPlace = typeof like === 'string' || like instanceof URL
  const info = isPlace ? await probeVideo(like, { ffmpeg, signal }) : like.info
  if (info.hdr !== undefined)
    throw expected('a video without HDR, since frames of 8 bits have none,', 'like', `${info.hdr} video`)
  if (audio === false || info.audio.length === 0) return { info, sounds: undefined }
  if (isPlace) return { info, sounds: checkedInput(like, 'like') }
  if (like.source !== undefined) return { info, sounds: checkedInput(like.source, 'like.source') }
  if (like.name !== undefined && (await isThere(like.name)))
    return { info, sounds: checkedInput(like.name, 'like.name') }
  const message = `The sounds of ${like.name ?? 'like'} cannot be copied, since it is no file that is there: give its path or URL, or audio: false`
  throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
}
