import type { Budget } from './budget.js'
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
  /**
   * Waits, where other requests are under way, until what the sockets have already is read: requests that came together go to their models together. A lane
   * that sleeps is then woken once for all of them, and their batch is fuller. A request that is alone does not wait.
   */
  readTogether(): Promise<void> | undefined
}
