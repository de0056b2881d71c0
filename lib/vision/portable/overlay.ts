/** Masks made visible, in JavaScript: as native/vision/overlay.h, with the same numbers. */
import { isUint8Array } from 'node:util/types'
import type { Image } from '../types.js'
import type { Area } from './cover.js'
import { mixed, opaque, type Surface } from './surface.js'

/** A mask over a part of the picture. */
export interface Placed<T extends Uint8Array | Float32Array = Uint8Array> {
  readonly data: T
  readonly area: Area
}

/** What the mask has at a pixel of the picture: nothing beyond it. */
export function maskAt({ data, area }: Placed<Uint8Array | Float32Array>, x: number, y: number): number {
  if (x < area.left || x >= area.right || y < area.top || y >= area.bottom) return 0
  return data[(y - area.top) * (area.right - area.left) + x - area.left]!
}

export function overlayClasses(image: Surface, mask: Placed, palette: Uint8Array, opacity: number): void {
  const share = Math.floor(opacity * opaque + 0.5)
  const colors = Array.from({ length: palette.length / 3 }, (_, i) =>
    image.own([palette[i * 3]!, palette[i * 3 + 1]!, palette[i * 3 + 2]!]),
  )
  for (let y = mask.area.top; y < mask.area.bottom; y++) {
    for (let x = mask.area.left; x < mask.area.right; x++) {
      const kind = maskAt(mask, x, y)
      if (kind === 0) continue
      image.blend(x, y, colors[kind]!, share)
    }
  }
  image.finish()
}

/** Of bytes all that is not zero is opaque; of floats the opacity, which may be no number. */
function opacityAt(mask: Placed<Uint8Array | Float32Array>, x: number, y: number): number {
  const value = maskAt(mask, x, y)
  if (!(value > 0)) return 0
  return isUint8Array(mask.data) ? opaque : Math.floor(Math.min(value, 1) * opaque + 0.5)
}

/** RGBA, or RGB before a background: a colour or a picture. */
export function cutOutBytes(image: Image, mask: Placed<Uint8Array | Float32Array>, background: Uint8Array): Uint8Array {
  const channels = background.length === 0 ? 4 : 3
  const result = new Uint8Array(image.width * image.height * channels)
  for (let pixel = 0; pixel < image.width * image.height; pixel++) {
    const opacity = opacityAt(mask, pixel % image.width, Math.floor(pixel / image.width))
    const behind = background.length === 3 ? 0 : pixel * 3
    for (let c = 0; c < 3; c++) {
      const value = image.data[pixel * 3 + c]!
      result[pixel * channels + c] = channels === 4 ? value : mixed(background[behind + c]!, value, opacity)
    }
    if (channels === 4) result[pixel * 4 + 3] = (opacity * 255 + opaque / 2) >> 15
  }
  return result
}
