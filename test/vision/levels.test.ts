// What the processor's lowest level gives is what the oracles say, too: the same tests, in processes that are told to use it.
import t from 'tap'
import { passesWith } from '../support/again.js'

for (const name of ['oracles', 'pil', 'into', 'tensor', 'candidates'])
  t.test(`${name} at the baseline`, (t) => passesWith(t, new URL(`${name}.test.js`, import.meta.url), { NODE_TENSORRT_CPU: 'baseline' }))
