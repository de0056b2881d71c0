import type { Budget } from '../front/budget.js'
import type { Heads } from './heads.js'
import type { JsonWorker } from './json-worker.js'
import type { HttpLimits, HttpOptions } from './options.js'

/** What all requests share. */
export interface FrontEnd {
  readonly options: HttpOptions
  readonly limits: HttpLimits
  readonly budget: Budget
  readonly worker: JsonWorker
  readonly heads: Heads
  /** No new work is taken; connections end with their next answer. */
  readonly isStopping: boolean
  /** A request is under way until what it gives is called. */
  begin(): () => void
  /** As UnderWay has it. */
  readTogether(): Promise<void> | undefined
}
