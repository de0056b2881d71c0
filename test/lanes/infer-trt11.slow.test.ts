// Inference on lanes of TensorRT 11. It differs from 10 only below native/tensorrt, which test/facts checks row by row
// and the C++ cases run on both, so the plain run is enough: no sanitizer runs this file unless it runs everything.
import t from 'tap'
import { testInfer } from './infer-suite.js'
import { families } from './rig.js'

await t.test(families[1].name, (t) => testInfer(t, families[1]))
