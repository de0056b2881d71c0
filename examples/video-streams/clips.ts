import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPrograms } from '../../lib/video/programs/find.js'
import { facePhoto } from '../support/program.js'

/** Pixels of a clip. */
export const [width, height] = [640, 360]

/** Which of face-api's photographs. */
const photos = [1, 2, 5, 6]

/** What a clip shows is moved by this many pixels. */
const moved = 120

/**
 * Four clips, as a camera gives them that is turned slowly: parts of photographs. @throws TensorRTError
 * ERR_TRT_VIDEO_PROGRAM
 */
export async function madeClips(folder: string, seconds: number, fps: number): Promise<string[]> {
  const { ffmpeg } = await findPrograms()
  return Promise.all(
    photos.map(async (photo, index) => {
      const path = join(folder, `camera-${index + 1}.mp4`)
      const wide = `scale=${width + moved}:${height + moved}:force_original_aspect_ratio=increase`
      const part = `crop=${width}:${height}:(in_w-${width})*t/${seconds}:(in_h-${height})/3`
      const args = [
        '-loop',
        '1',
        '-framerate',
        String(fps),
        '-i',
        facePhoto(photo),
        '-t',
        String(seconds),
        '-vf',
        `${wide},${part}`,
      ]
      const encoded = ['-c:v', 'libx264', '-preset', 'veryfast', '-pix_fmt', 'yuv420p', '-y', path]
      await promisify(execFile)(ffmpeg, ['-nostdin', '-loglevel', 'error', ...args, ...encoded])
      return path
    }),
  )
}
