// Whether faces are hidden in a picture, as somebody who looks at it would say.
import type { Test } from 'tap'
import type { BlurResult } from '../../lib/tasks/index.js'
import { type Box, clipBox, type Image } from '../../lib/vision/index.js'

/** Faces lie in regions up to this part of a pixel, by which another program's resizing moves them. */
const tolerance = 1

/** What of the pixels of a face, but its corners, has to be another: in what is of one colour some stay as they are. */
const leastChanged = 0.9

/**
 * That every face lies in a region that was hidden, that its pixels are others, and that regions are told where and
 * only where the picture has changed.
 * @param faces what another program finds, in pixels of the picture
 */
export function checkHidden(
  t: Test,
  name: string,
  picture: Image,
  { image, regions }: BlurResult,
  faces: readonly Box[],
): void {
  t.same([image.width, image.height], [picture.width, picture.height], name)
  t.equal(regions.length, faces.length, `${name}: as many regions as faces`)
  for (const face of faces) {
    const [x, y, width, height] = clipBox(face, picture)
    const covers = ({ box: [left, top, across, down] }: { readonly box: Box }): boolean =>
      left <= x + tolerance &&
      top <= y + tolerance &&
      left + across >= x + width - tolerance &&
      top + down >= y + height - tolerance
    t.ok(regions.some(covers), `${name}: a region over ${face.map(Math.round).join(' ')}`)
    const changed = changedPart(picture, image, face)
    t.ok(changed >= leastChanged, `${name}: ${(changed * 100).toFixed(0)} % of the face's pixels are others`)
  }
  t.equal(isSame(picture, image), regions.length === 0, `${name}: what has changed is told`)
}

export function isSame(a: Image, b: Image): boolean {
  return Buffer.compare(a.data, b.data) === 0
}

/** Of the pixels in the ellipse that a box encloses. */
function changedPart(before: Image, after: Image, [x, y, width, height]: Box): number {
  const [left, top, across, down] = clipBox([x, y, width, height], before)
  let [all, changed] = [0, 0]
  for (let row = Math.ceil(top); row < Math.floor(top + down); row++)
    for (let column = Math.ceil(left); column < Math.floor(left + across); column++) {
      const off = ((column + 0.5 - x) / (width / 2) - 1) ** 2 + ((row + 0.5 - y) / (height / 2) - 1) ** 2
      if (off > 1) continue
      all++
      const at = (row * before.width + column) * 3
      if ([0, 1, 2].some((channel) => before.data[at + channel] !== after.data[at + channel])) changed++
    }
  return changed / all
}
