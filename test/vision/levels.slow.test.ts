// What the processor's lowest level gives is what the oracles say, too: the same tests, in processes that are told to
// use it.
import t from 'tap'
import { passesWith } from '../support/again.js'
import { long } from '../support/tiers.js'

// the first three compare every pixel and many samples with PIL, OpenCV and torchvision
for (const name of ['oracles', 'oracles.slow', 'pil', ...(long ? ['into', 'tensor', 'candidates'] : [])])
  t.test(`${name} at the baseline`, (t) =>
    passesWith(t, new URL(`${name}.test.js`, import.meta.url), { NODE_TENSORRT_CPU: 'baseline' }),
  )
