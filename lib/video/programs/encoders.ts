import { lacking } from '../../base/remedies.js'
import type { Programs } from './find.js'
import { stampOf } from './find.js'
import { runProgram } from './run.js'

const known = new Map<string, { readonly stamp: string; readonly encoders: ReadonlySet<string> }>()

/** @throws TensorRTError ERR_TRT_VIDEO_PROGRAM where this ffmpeg was built without the encoder; the signal's reason */
export async function demandEncoder(
  { ffmpeg, version }: Programs,
  encoder: string,
  signal?: AbortSignal,
): Promise<void> {
  if ((await encodersOf(ffmpeg, signal)).has(encoder)) return
  throw lacking('ERR_TRT_VIDEO_PROGRAM', `ffmpeg ${version} at ${ffmpeg} was built without the encoder ${encoder}`, {
    details: { program: 'ffmpeg', path: ffmpeg, version, encoder },
  })
}

/** The names that `ffmpeg -encoders` lists, after its six letters of abilities. */
async function encodersOf(ffmpeg: string, signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
  const stamp = await stampOf(ffmpeg)
  const before = known.get(ffmpeg)
  if (before?.stamp === stamp) return before.encoders
  const { output } = await runProgram(ffmpeg, ['-hide_banner', '-encoders'], { signal, mostBytes: 1 << 20 })
  const encoders = new Set(Array.from(output.matchAll(/^ [VAS][A-Z.]{5} (\S+)/gm), ([, name = '']) => name))
  known.set(ffmpeg, { stamp, encoders })
  return encoders
}
