import type { Rows } from '../../base/option-table.js'
import type { Opened } from '../opening.js'

/** What a video call needs to know of its task. */
export interface VideoPlan {
  /** How many frames are under way at once. */
  readonly most: number
  /** The options of a call that go before the task's own. */
  readonly rows: Rows
}

export function videoPlan<R>({ pipeline, answers }: Opened<R>): VideoPlan {
  return { most: pipeline.inFlight, rows: answers.perCall?.rows ?? {} }
}
