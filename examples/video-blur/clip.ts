import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPrograms } from '../../lib/video/programs/find.js'
import { facePhoto } from '../support/program.js'

const [width, height] = [640, 360]

/** Which of face-api's photographs are shown one after the other. */
const photos = [1, 2, 6]

/** What a photograph is moved by while it is shown, in pixels. */
const moved = 120

/**
 * Photographs that are moved as by a camera, each for so long, with a tone. @throws TensorRTError ERR_TRT_VIDEO_PROGRAM
 */
export async function madeClip(folder: string, seconds: number, fps: number): Promise<string> {
  const { ffmpeg } = await findPrograms()
  const path = join(folder, 'clip.mp4')
  const inputs = photos.flatMap((photo) => [
    '-loop',
    '1',
    '-framerate',
    String(fps),
    '-t',
    String(seconds),
    '-i',
    facePhoto(photo),
  ])
  const tone = ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${photos.length * seconds}`]
  const size = `scale=${width + moved}:${height + moved}:force_original_aspect_ratio=increase,setsar=1`
  const part = `crop=${width}:${height}:(in_w-${width})*t/${seconds}:(in_h-${height})/3`
  const each = photos.map((_, i) => `[${i}:v]${size},${part}[v${i}]`)
  const all = `${photos.map((_, i) => `[v${i}]`).join('')}concat=n=${photos.length}[v]`
  const filters = ['-filter_complex', [...each, all].join(';'), '-map', '[v]', '-map', `${photos.length}:a`]
  const encoded = ['-c:v', 'libx264', '-preset', 'veryfast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-y', path]
  await promisify(execFile)(ffmpeg, ['-nostdin', '-loglevel', 'error', ...inputs, ...tone, ...filters, ...encoded])
  return path
}
