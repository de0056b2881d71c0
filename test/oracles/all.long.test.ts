// All networks, what goes wrong in half precision, and what is odd to quantize, against ONNX's checker and reference
// evaluator, and TensorRT-RTX's builder.
import t from 'tap'
import { skipWithoutOnnx, skipWithoutRtx } from '../support/tensorrt.js'
import { checkCases } from './check.js'
import { hazards } from './hazards.js'
import { networks } from './networks.js'
import { oddCases } from './odd.js'

for (const [name, all] of Object.entries({ networks, hazards, 'odd to quantize': oddCases }))
  t.test(name, { skip: skipWithoutOnnx || skipWithoutRtx }, async (t) => {
    const cases = all.map((make) => make())
    await checkCases(t, cases)
  })
