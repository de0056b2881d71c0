import { rename } from 'node:fs/promises'
import { onFile } from '../../base/files.js'
import { temporaryOf, withTemporary } from '../../base/temporary.js'
import { probeVideo } from '../probe.js'
import { fileUrl } from '../programs/inputs.js'
import { runProgram } from '../programs/run.js'
import { quietly } from '../programs/start.js'
import { tagOf } from './codecs.js'
import { assertWritten, writingError } from './failure.js'
import type { Writing } from './options.js'
import type { Target } from './target.js'

/**
 * Ends the sounds of a file with its frames, which are shown for so many seconds: packets are copied once more, but
 * those of later sounds.
 * @throws TensorRTError ERR_TRT_VIDEO_DATA, ERR_TRT_FILE; the signal's reason
 */
export async function trimSounds(
  { name, output, frames }: Pick<Target, 'name' | 'output'> & { readonly frames: number },
  shown: number,
  { codec, container, ffmpeg: program, signal }: Writing,
  ffmpeg: string,
): Promise<void> {
  if (output === undefined) return // in a stream nobody goes back
  const { start = 0 } = await probeVideo(output, { ffmpeg: program, signal })
  const temporary = temporaryOf(output)
  await withTemporary(temporary, async () => {
    const args = [
      ...[...quietly, '-y', '-copyts', '-i', fileUrl(output), '-map', '0', '-c', 'copy'],
      ...['-to', (start + shown).toFixed(6)],
      ...tagOf(codec, container),
      ...['-f', container, fileUrl(temporary)],
    ]
    const { exit, lines } = await runProgram(ffmpeg, args, { signal, mostBytes: 2 ** 20 })
    const written = { name, frames, exit, lines }
    if (exit.code !== 0) throw writingError(written, `Cannot end the sounds of ${name} with its frames`)
    await assertWritten(written, { output: temporary }, container)
    await onFile('write', name, () => rename(temporary, output))
  })
}
