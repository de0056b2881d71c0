// Mistakes with the provider `tensorrt` of node-tensorrt/onnxruntime: onnxruntime's own options of it.
import { InferenceSession } from '../../lib/onnxruntime/entry.js'
import { identity } from '../support/models.js'
import { argument, type Room } from './table.js'

const model = identity()

const open = (options: object): Promise<unknown> =>
  InferenceSession.create(model, { executionProviders: [{ name: 'tensorrt', ...options }] })

export const ortTensorRT: Room = () => [
  [() => open({ trt_fp16_enable: 'yes' }), argument, ['trt_fp16_enable must be true, false', '"yes"']],
  [() => open({ trt_int8_enable: null }), argument, ['trt_int8_enable must be true, false', 'null']],
  [() => open({ deviceId: 'gpu0' }), argument, ['deviceId must be a number', '"gpu0"']],
  [() => open({ device_id: 0.5 }), argument, ['device_id', '0.5']],
  [() => open({ trt_max_workspace_size: '1GiB' }), argument, ['trt_max_workspace_size must be a number', '"1GiB"']],
  [() => open({ trt_engine_cache_path: new URL('file:///engines') }), argument, 'trt_engine_cache_path must be a text'],
  [
    () => open({ trt_profile_min_shapes: 'x:1' }),
    argument,
    ['have to be given together', 'trt_profile_opt_shapes and trt_profile_max_shapes is missing'],
  ],
  [() => open({ trt_profile_min_shapes: { x: [1] } }), argument, 'trt_profile_min_shapes must be a text'],
  [
    () => open({ trt_profile_min_shapes: 'x:[1]' }),
    argument,
    ['trt_profile_min_shapes must be text such as "images:1x3x224x224"', '"x:[1]"'],
  ],
  [
    () => open({ trt_profile_min_shapes: 'x:1', trt_profile_opt_shapes: 'x:1', trt_profile_max_shapes: 'y:1' }),
    argument,
    ['the same inputs', "trt_profile_min_shapes has 'y' 0 times, not 1"],
  ],
]
