import type { Found } from '../../lib/tasks/index.js'
import { drawBoxes, type Image } from '../../lib/vision/index.js'
import type { Answer } from './program.js'

/** How many of the best the table names. */
const named = 5

/** What was found: drawn on the picture, listed for `--json` under `what`, counted for the table. */
export async function shown(image: Image, found: readonly Found[], what: string): Promise<Answer> {
  const nameOf = ({ label = '', score }: Found) => `${label} ${score.toFixed(2)}`.trim()
  const boxes = found.map((one) => ({ box: one.box, label: nameOf(one), landmarks: one.landmarks }))
  return {
    found: { [what]: found },
    cells: [found.length, found.slice(0, named).map(nameOf).join(', ')],
    picture: await drawBoxes(image, boxes),
  }
}
