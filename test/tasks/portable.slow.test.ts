// Without the addon tasks say the same, on onnxruntime-node in a worker and with pixels in JavaScript: the same tests,
// in processes that are told so.
import t from 'tap'
import { passesWith } from '../support/again.js'
import { long } from '../support/tiers.js'

// `real` holds answers against face-api's and PP-OCR's; `presets` its formulas, which know nothing of the way
for (const name of long ? ['real', 'presets'] : ['real'])
  t.test(name, (t) => passesWith(t, new URL(`${name}.test.js`, import.meta.url), { NODE_TENSORRT_PORTABLE: '1' }))
