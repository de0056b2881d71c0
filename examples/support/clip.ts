import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findPrograms } from '../../lib/video/programs/find.js'
import { facePhoto } from './program.js'

export interface ClipOptions {
  /** How long each photograph is shown. */
  readonly seconds: number
  readonly fps: number
  readonly width?: number
  readonly height?: number
  /** What a photograph is moved by while it is shown, in pixels. */
  readonly moved?: number
  /** Whether there is a tone. */
  readonly sound?: boolean
}

/**
 * A clip of face-api's photographs, one after the other, each as a camera shows it that is turned slowly. @throws
 * TensorRTError ERR_TRT_VIDEO_PROGRAM
 */
export async function cameraClip(
  path: string,
  photos: readonly number[],
  { seconds, fps, width = 640, height = 360, moved = 120, sound = false }: ClipOptions,
): Promise<string> {
  const { ffmpeg } = await findPrograms()
  const pictures = photos.flatMap((photo) => [...words(`-loop 1 -framerate ${fps} -t ${seconds} -i`), facePhoto(photo)])
  const tone = sound ? words(`-f lavfi -i sine=frequency=440:duration=${photos.length * seconds}`) : []
  const size = `scale=${width + moved}:${height + moved}:force_original_aspect_ratio=increase,setsar=1`
  const part = `crop=${width}:${height}:(in_w-${width})*t/${seconds}:(in_h-${height})/3`
  const each = photos.map((_, i) => `[${i}:v]${size},${part}[v${i}];`).join('')
  const all = `${photos.map((_, i) => `[v${i}]`).join('')}concat=n=${photos.length}[v]`
  const filters = ['-filter_complex', `${each}${all}`, ...words(`-map [v]${sound ? ` -map ${photos.length}:a` : ''}`)]
  const encoded = [...words('-c:v libx264 -preset veryfast -pix_fmt yuv420p -c:a aac -y'), path]
  await promisify(execFile)(ffmpeg, ['-nostdin', '-loglevel', 'error', ...pictures, ...tone, ...filters, ...encoded])
  return path
}

const words = (text: string): string[] => text.split(' ')
