// Without the addon tasks say the same, on onnxruntime-node in a worker and with pixels in JavaScript: the same tests, in processes that are told so.
import t from 'tap'
import { passesWith } from '../support/again.js'

for (const name of ['presets', 'real'])
  t.test(name, (t) => passesWith(t, new URL(`${name}.test.js`, import.meta.url), { NODE_TENSORRT_PORTABLE: '1' }))
