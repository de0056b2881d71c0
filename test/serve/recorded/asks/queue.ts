// Queues that are full, requests that wait too long, batches of several.
import type { Ask } from '../ask.js'
import { infer, input } from './make.js'

const row = { inputs: [input('FP32', [1, 4], [1, 2, 3, 4])] }
const rows = { inputs: [input('FP32', [4, 4], Array<number>(16).fill(2))] }

const waits = (ask: Ask): Ask => ({ ...ask, group: 'waits' })

export const queueAsks: readonly Ask[] = [
  waits({ ...infer('two for a queue of one', 'full', row), together: 2 }),
  waits(infer('waits longer than it may', 'rejects', row)),
  waits(infer('waits longer than it may, and is answered', 'delays', row)),
  waits(infer('waits longer than it wants to', 'shortens', { ...row, parameters: { timeout: 100000 } })),
  waits(infer('wants to wait less than without end', 'endless', { ...row, parameters: { timeout: 100000 } })),
  infer('a full batch need not wait', 'full', rows),
  infer('wants to wait as long as it takes', 'shortens', { ...rows, parameters: { timeout: 0 } }),
  infer('wants to wait less, which nobody allows', 'rejects', { ...rows, parameters: { timeout: 1 } }),
  { ...infer('four become a batch', 'gathers', row), together: 4 },
  {
    ...infer('two of two rows become a batch', 'gathers', {
      inputs: [input('FP32', [2, 4], Array<number>(8).fill(3))],
    }),
    together: 2,
  },
  infer('more than a batch', 'gathers', { inputs: [input('FP32', [5, 4], Array<number>(20).fill(3))] }),
]
