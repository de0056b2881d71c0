/** Hides parts of a picture in place, in JavaScript: as native/vision/blend.h, with the same numbers. */
import type { Color } from '../types.js'
import { type Area, blurred, type Bounds, type Cover, filled, pixelated, touched } from './cover.js'
import { opaque, type Surface } from './surface.js'
import { maskAt, type Placed } from './overlay.js'

export interface HideStyle {
  readonly method: 'blur' | 'pixelate' | 'fill'
  readonly shape: 'ellipse' | 'rectangle'
  readonly strength: number
  readonly feather: number
  readonly color: Color
}

export function hideRegion(image: Surface, region: Bounds, style: HideStyle): void {
  const [left, top, right, bottom] = region
  const [width, height] = [right - left, bottom - top]
  if (!(width > 0 && height > 0)) return
  const [dx, dy] = [(width * style.feather) / 2, (height * style.feather) / 2]
  const area = touched([left - dx, top - dy, right + dx, bottom + dy], image)
  if (isEmpty(area)) return
  lay(image, area, coverOf(image, area, left, top, Math.max(width, height), style), opacityOf(region, style))
}

export function hideMask(image: Surface, mask: Placed, style: HideStyle): void {
  const area = boundsOf(mask)
  if (isEmpty(area)) return
  const longer = Math.max(area.right - area.left, area.bottom - area.top)
  const cover = coverOf(image, area, area.left, area.top, longer, style)
  lay(image, area, cover, (x, y) => (maskAt(mask, x, y) === 0 ? 0 : opaque))
}

const isEmpty = ({ left, top, right, bottom }: Area): boolean => right <= left || bottom <= top

function coverOf(
  image: Surface,
  area: Area,
  x: number,
  y: number,
  longer: number,
  { method, strength, color }: HideStyle,
): Cover {
  if (method === 'fill') return filled(image.own(color))
  return method === 'blur' ? blurred(image, area, longer * strength) : pixelated(image, area, x, y, longer * strength)
}

/**
 * Opaque within the region, nothing beyond its feather, a smooth slope between, in 4096 steps of the squared distance.
 */
function opacityOf(
  [left, top, right, bottom]: Bounds,
  { shape, feather }: HideStyle,
): (x: number, y: number) => number {
  const steps = 4096
  const outer = 1 + feather
  const most = outer * outer
  const scale = steps / (most - 1)
  const slope = (distance: number): number => {
    const step = Math.min(steps - 1, Math.floor((distance - 1) * scale))
    const t = (outer - Math.sqrt(1 + (step + 0.5) / scale)) / feather
    return Math.round(t * t * (3 - 2 * t) * opaque)
  }
  const squared = (pixel: number, low: number, high: number): number =>
    Math.fround(Math.min(((pixel + 0.5 - (low + high) / 2) / ((high - low) / 2)) ** 2, 1e9))
  return (x, y) => {
    const [across, down] = [squared(x, left, right), squared(y, top, bottom)]
    const distance = shape === 'ellipse' ? Math.fround(across + down) : Math.max(across, down)
    return distance <= 1 ? opaque : distance < most ? slope(distance) : 0
  }
}

function lay(image: Surface, area: Area, cover: Cover, opacityAt: (x: number, y: number) => number): void {
  for (let y = area.top; y < area.bottom; y++) {
    cover.row(y)
    for (let x = area.left; x < area.right; x++) {
      const opacity = opacityAt(x, y)
      if (opacity > 0) image.blend(x, y, [cover.at(x, 0), cover.at(x, 1), cover.at(x, 2)], opacity)
    }
  }
  image.finish()
}

/** The smallest area around what is not zero. */
function boundsOf({ data, area }: Placed): Area {
  const width = area.right - area.left
  let { right: left, bottom: top, left: right, top: bottom } = area
  for (let y = area.top; y < area.bottom; y++) {
    const row = data.subarray((y - area.top) * width, (y - area.top + 1) * width)
    const first = row.findIndex((value) => value !== 0)
    if (first < 0) continue
    left = Math.min(left, area.left + first)
    right = Math.max(right, area.left + row.findLastIndex((value) => value !== 0) + 1)
    top = Math.min(top, y)
    bottom = y + 1
  }
  return { left, top, right, bottom }
}
