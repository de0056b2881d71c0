import { checkedArray, checkedChoice, checkedNumber } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { checkedBox, checkedImage } from './checks.js'
import { imageFailure, openImage, toImage } from './sharp.js'
import type { Box, Image } from './types.js'

export interface BlurOptions {
  /** Default `ellipse`, the one that the box encloses. */
  readonly shape?: 'ellipse' | 'rectangle' | undefined
  /** The standard deviation of the gaussian, as a part of the longer side of the region; default 0.1. */
  readonly strength?: number | undefined
  /** How much the region is enlarged about its centre first, 1 for not at all; default 1. */
  readonly grow?: number | undefined
  /** Over what part of the region's half width and height the blur fades out, outside the region; default 0.15. */
  readonly feather?: number | undefined
}

type Style = Required<{ [K in keyof BlurOptions]: NonNullable<BlurOptions[K]> }>

/** Beyond this, a region is made smaller before it is blurred and larger after it: looks the same, and takes far less time. */
const largestSigma = 6

/**
 * A copy of the picture in which regions cannot be recognized: gaussian blur that fades out at the edges. What lies outside the picture is ignored.
 * @throws TensorRTError ERR_TRT_IMAGE when sharp fails or is not installed
 */
export async function blurRegions(image: Image, regions: readonly Box[], options?: BlurOptions): Promise<Image> {
  checkedImage(image)
  checkedArray(regions, 'regions')
  regions.forEach((region, index) => checkedBox(region, `regions[${index}]`))
  const style = styleOf(options)
  const result: Image = { ...image, data: image.data.slice() }
  for (const region of regions) await blurRegion(result, enlarge(region, style.grow), style)
  return result
}

function styleOf(options: unknown): Style {
  const given = readOptions(options, ['shape', 'strength', 'grow', 'feather'], 'blurRegions')
  const { shape = 'ellipse', strength = 0.1, grow = 1, feather = 0.15 } = given
  return {
    shape: checkedChoice(shape, 'shape', ['ellipse', 'rectangle']),
    strength: checkedNumber(strength, 'strength', 0.01, 1),
    grow: checkedNumber(grow, 'grow', 0.1, 10),
    feather: checkedNumber(feather, 'feather', 0, 2),
  }
}

function enlarge([x, y, width, height]: Box, factor: number): Box {
  return [x - (width * (factor - 1)) / 2, y - (height * (factor - 1)) / 2, width * factor, height * factor]
}

/** Whole pixels of a picture: left and top within, right and bottom just beyond. */
interface Area {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

function areaOf([x, y, width, height]: Box, image: Image): Area {
  return {
    left: Math.max(0, Math.floor(x)),
    top: Math.max(0, Math.floor(y)),
    right: Math.min(image.width, Math.ceil(x + width)),
    bottom: Math.min(image.height, Math.ceil(y + height)),
  }
}

async function blurRegion(image: Image, region: Box, style: Style): Promise<void> {
  const touched = areaOf(enlarge(region, 1 + style.feather), image)
  const isEmpty = region[2] === 0 || region[3] === 0
  if (isEmpty || touched.right <= touched.left || touched.bottom <= touched.top) return
  const sigma = Math.max(region[2], region[3]) * style.strength
  // What lies two deviations around it is seen by the gaussian; without it the region's edge would be that of a tile.
  const seen = areaOf(
    [touched.left - 2 * sigma, touched.top - 2 * sigma, touched.right - touched.left + 4 * sigma, touched.bottom - touched.top + 4 * sigma],
    image,
  )
  const blurred = await blurArea(image, seen, sigma)
  blend(image, blurred, seen, touched, (x, y) => opacity(region, style, x, y))
}

async function blurArea(image: Image, area: Area, sigma: number): Promise<Image> {
  const width = area.right - area.left
  const height = area.bottom - area.top
  const shrink = Math.max(1, sigma / largestSigma)
  const small = { width: Math.max(1, Math.round(width / shrink)), height: Math.max(1, Math.round(height / shrink)), fit: 'fill' } as const
  const purpose = 'blur a region'
  try {
    const part = (await openImage(image, purpose)).extract({ left: area.left, top: area.top, width, height })
    // sharp blurs after resizing, and 0.3 is the least that it accepts.
    const blurred = await toImage(part.resize(small).blur(Math.max(0.3, sigma / shrink)))
    return await toImage((await openImage(blurred, purpose)).resize({ width, height, fit: 'fill', kernel: 'cubic' }))
  } catch (error) {
    throw imageFailure(error, purpose)
  }
}

/** 1 within the region, 0 beyond its feather, a smooth slope between; x and y are a pixel's centre. */
function opacity([left, top, width, height]: Box, { shape, feather }: Style, x: number, y: number): number {
  const dx = Math.abs(x - left - width / 2) / (width / 2)
  const dy = Math.abs(y - top - height / 2) / (height / 2)
  const distance = shape === 'ellipse' ? Math.hypot(dx, dy) : Math.max(dx, dy)
  if (distance <= 1) return 1
  if (distance >= 1 + feather) return 0
  const t = (1 + feather - distance) / feather
  return t * t * (3 - 2 * t)
}

/** Lays `over`, whose first pixel is at the start of `origin`, on the pixels of `area`. */
function blend(image: Image, over: Image, origin: Area, area: Area, opacityAt: (x: number, y: number) => number): void {
  for (let y = area.top; y < area.bottom; y++) {
    for (let x = area.left; x < area.right; x++) {
      const weight = opacityAt(x + 0.5, y + 0.5)
      if (weight === 0) continue
      const to = (y * image.width + x) * 3
      const from = ((y - origin.top) * over.width + x - origin.left) * 3
      for (let channel = 0; channel < 3; channel++) {
        const value = image.data[to + channel]!
        image.data[to + channel] = Math.round(value + (over.data[from + channel]! - value) * weight)
      }
    }
  }
}
