// Inference on lanes: TensorRT 10 and onnxruntime. infer-trt11.slow.test.ts runs the same cases on TensorRT 11.
import t from 'tap'
import { testInfer } from './infer-suite.js'
import { families, onnxruntime } from './rig.js'

for (const runtime of [families[0], onnxruntime]) await t.test(runtime.name, (t) => testInfer(t, runtime))
