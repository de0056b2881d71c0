/** Photographs of known sizes, as JPEG. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import sharp from 'sharp'

/** 640 x 480, and 4000 x 3000. */
export async function pictures(): Promise<{ readonly vga: Uint8Array; readonly twelve: Uint8Array }> {
  const folder = dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json'))
  const photo = await readFile(join(folder, 'demo', 'sample1.jpg'))
  const of = (width: number, height: number): Promise<Buffer> =>
    sharp(photo).resize(width, height, { fit: 'cover' }).jpeg({ quality: 90 }).toBuffer()
  return { vga: await of(640, 480), twelve: await of(4000, 3000) }
}
