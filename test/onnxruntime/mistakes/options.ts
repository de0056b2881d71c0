// Options of create(), with values that they do not take.
import { inspect } from 'node:util'
import { identity } from '../../support/models.js'
import type { Name, Row } from './table.js'

const model = identity()

/** An option, what is given for it, the error's name, and what onnxruntime-node does where that is something else. */
type Option = readonly [option: string, values: readonly unknown[], name: Name, theirs?: Row[4]]

const more = 'runs' // it does not look at the option, or takes what it cannot mean

const options: readonly Option[] = [
  ['intraOpNumThreads', ['2', null, true, {}, 2n], 'TypeError'],
  ['intraOpNumThreads', [1.5, -1, NaN, Infinity, 2 ** 40], 'RangeError'],
  ['interOpNumThreads', ['2', null, [1]], 'TypeError'],
  ['interOpNumThreads', [1.5, -1, NaN, -Infinity], 'RangeError'],
  ['graphOptimizationLevel', [0, null, true, 'bad-value', '', 'ALL', 'toString'], 'TypeError'],
  ['enableCpuMemArena', [0, 'true', null], 'TypeError'],
  ['enableMemPattern', [0, 'true', null], 'TypeError'],
  ['executionMode', [0, null, 'bad-value', 'constructor'], 'TypeError'],
  ['freeDimensionOverrides', [1, 'N', true, null], 'TypeError', more],
  ['freeDimensionOverrides', [{ N: '2' }, { N: null }, { N: 2n }], 'TypeError', more],
  ['freeDimensionOverrides', [{ N: 0 }, { N: -1 }, { N: 1.5 }, { N: NaN }, { N: 2 ** 60 }], 'RangeError', more],
  ['externalData', [1, 'weights.bin', {}], 'TypeError'],
  ['externalData', [[1], [null], [{}], [{ path: 1, data: 'x' }], [{ path: 'x' }]], 'TypeError'],
  ['externalData', [[{ path: 'x', data: 1 }], [{ path: 'x', data: [1, 2] }]], 'TypeError'],
  ['extra', [1, 'session', true, null], 'TypeError'],
  ['extra', [{ session: 1 }, { session: { disable_prepacking: 1 } }, { session: { a: true } }], 'TypeError'],
  ['logId', [1, null, {}], 'TypeError'],
  ['logSeverityLevel', ['1', null, {}], 'TypeError'],
  ['logSeverityLevel', [5, -1, 1.5, NaN], 'RangeError'],
  ['logVerbosityLevel', ['1', null, {}], 'TypeError', more],
  ['logVerbosityLevel', [-1, 0.5, NaN], 'RangeError', more],
  ['enableProfiling', [1, 'true', null], 'TypeError'],
  ['enableProfiling', [true], 'Error', 'untried'],
  ['profileFilePrefix', [1, {}], 'TypeError', more],
  ['optimizedModelFilePath', [1, null, {}], 'TypeError'],
  ['preferredOutputLocation', [1, true, 'x', 'none', ''], 'TypeError'],
  ['preferredOutputLocation', [{ y: 'x' }, { y: 1 }, { z: 'cpu' }], 'TypeError'],
  ['enableGraphCapture', [1, 'true', null], 'TypeError', more],
  ['executionProviders', [[1], [{}], [{ name: 1 }], [true]], 'Error'],
  ['executionProviders', [[null], [undefined]], 'TypeError'],
  ['executionProviders', ['cpu', {}, 7], 'TypeError'],
  ['executionProviders', [['bad-name'], ['CPU'], [''], [{ name: 'bad-name' }], ['toString']], 'Error'],
]

/** The options of the provider, which onnxruntime-node does not read. */
const tensorrt: readonly (readonly [given: object, name: Name])[] = [
  [{ deviceId: 'x' }, 'TypeError'],
  [{ deviceId: null }, 'TypeError'],
  [{ deviceId: 1.5 }, 'RangeError'],
  [{ deviceId: NaN }, 'RangeError'],
  [{ trt_fp16_enable: 'x' }, 'TypeError'],
  [{ trt_fp16_enable: 2 }, 'TypeError'],
  [{ trt_int8_enable: null }, 'TypeError'],
  [{ trt_bf16_enable: {} }, 'TypeError'],
  [{ trt_max_workspace_size: '1 GB' }, 'TypeError'],
  [{ trt_max_workspace_size: -2 }, 'RangeError'],
  [{ trt_builder_optimization_level: 'most' }, 'TypeError'],
  [{ trt_auxiliary_streams: 0.5 }, 'RangeError'],
  [{ trt_engine_cache_path: 1 }, 'TypeError'],
  [{ trt_engine_cache_path: '' }, 'TypeError'],
  [{ trt_engine_cache_enable: 'yes' }, 'TypeError'],
  [{ trt_timing_cache_path: [] }, 'TypeError'],
  [{ trt_extra_plugin_lib_paths: ['a.so'] }, 'TypeError'],
  [{ trt_profile_min_shapes: 'x' }, 'TypeError'],
  [{ trt_profile_min_shapes: 'x:1' }, 'TypeError'],
  [{ trt_profile_min_shapes: 'x:1x-2', trt_profile_opt_shapes: 'x:1', trt_profile_max_shapes: 'x:1' }, 'TypeError'],
  [{ trt_profile_min_shapes: 'x:1', trt_profile_opt_shapes: 'y:1', trt_profile_max_shapes: 'x:1' }, 'TypeError'],
  [{ trt_profile_min_shapes: [1], trt_profile_opt_shapes: 'x:1', trt_profile_max_shapes: 'x:1' }, 'TypeError'],
]

const own = (message: string): never => {
  throw new RangeError(message)
}

/** Objects that do not answer. */
const hostile: readonly Row[] = [
  [
    'options with a getter that throws',
    ({ create }) => create(model, { get intraOpNumThreads() { return own('the program') } }), // prettier-ignore
    'RangeError',
    /the program/,
    'untried',
  ],
  [
    'options that are a proxy that was revoked',
    ({ create }) => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return create(model, proxy)
    },
    'TypeError',
    /Cannot perform.*proxy/,
    'untried',
  ],
  [
    'options that list no keys',
    ({ create }) => create(model, new Proxy({}, { ownKeys: () => own('no keys') })),
    'RangeError',
    /no keys/,
    'untried',
  ],
  [
    'external data of a getter that throws',
    ({ create }) => create(model, { externalData: [{ get path() { return own('the path') } }] }), // prettier-ignore
    'RangeError',
    /the path/,
    'untried',
  ],
]

const shown = (value: unknown): string => inspect(value, { breakLength: Infinity })

export const rows: readonly Row[] = [
  ...options.flatMap(([option, values, name, theirs]) =>
    values.map((value): Row => [
      `${option}: ${shown(value)}`,
      ({ create }) => create(model, { [option]: value }),
      name,
      option === 'executionProviders' ? /provider|backend|Cannot read propert|not a function/ : new RegExp(option),
      theirs,
    ]),
  ),
  ...tensorrt.map(([given, name]): Row => [
    `tensorrt: ${shown(given)}`,
    ({ create }) => create(model, { executionProviders: [{ name: 'tensorrt', ...given }] }),
    name,
    new RegExp(Object.keys(given)[0] ?? ''),
    'untried',
  ]),
  ...hostile,
]
