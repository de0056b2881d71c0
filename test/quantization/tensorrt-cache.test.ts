// TensorRT's calibration cache: what others parse and write, and names that make it hard.
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { Calibration } from '../../lib/quantization/index.js'
import { failure } from '../support/errors.js'
import { cacheVersion, formatTensorRTCache, parseTensorRTCache } from '../../lib/quantization/tensorrt-cache.js'

const names = [
  'input',
  'a: b',
  'x:0',
  '(Unnamed Layer* 22) [Constant]_output',
  'ends with colon:',
  ' spaces ',
  '名前',
  'a: 3c010204',
  '__proto__',
]

/** As ModelOpt reads it: without the first line, by the last colon, the digits as a big-endian float. */
const python = `
import json, struct, sys
scales = {}
for line in sys.stdin.buffer.read().decode().split('\\n')[1:]:
    if line:
        name, digits = line.rsplit(':', 1)
        scales[name] = struct.unpack('!f', bytes.fromhex(digits.strip()))[0]
print(json.dumps(scales))
`

t.test('what we write, others read', async (t) => {
  const scales = new Map(names.map((name, i) => [name, Math.fround(0.001 * (i + 1) ** 3)]))
  const text = formatTensorRTCache({ version: 100600, algorithm: 'EntropyCalibration2', scales })
  t.equal(text.split('\n')[0], 'TRT-100600-EntropyCalibration2')
  const read = new Map(
    Object.entries(
      JSON.parse(execFileSync('python3', ['-c', python], { input: text, encoding: 'utf8' })) as Record<string, number>,
    ),
  )
  t.same(new Map([...read].sort()), new Map([...scales].sort()))
  // as trtexec does: eight characters, two behind the last colon
  for (const line of text.trim().split('\n').slice(1)) t.match(line.slice(line.lastIndexOf(':') + 2), /^[\da-f]{8}$/)
  t.same(parseTensorRTCache(text), { version: 100600, algorithm: 'EntropyCalibration2', scales })
})

t.test('what others write, we read', async (t) => {
  const text =
    'TRT-8601-EntropyCalibration2\r\ninput: 3c010204\r\n(Unnamed Layer* 22) [Constant]_output: 3d4ccccd\r\na:b: 3F800000\r\nzero: 0\r\n'
  const { version, algorithm, scales } = parseTensorRTCache(text)
  t.same([version, algorithm], [8601, 'EntropyCalibration2'])
  t.same([...scales.keys()], ['input', '(Unnamed Layer* 22) [Constant]_output', 'a:b', 'zero'])
  t.equal(scales.get('input'), Math.fround(1 / 127))
  t.equal(scales.get('a:b'), 1)
  t.equal(Calibration.fromTensorRT(text).ranges.get('a:b')?.amax, 127)
  t.throws(
    () => parseTensorRTCache(Buffer.from(text) as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /the text of a calibration cache for text/),
  )
  t.match(parseTensorRTCache('TRT-100300-MinMaxCalibration\n'), { version: 100300, algorithm: 'MinMaxCalibration' })
})

t.test('versions', async (t) => {
  t.equal(cacheVersion('10.6.0'), 100600)
  t.equal(cacheVersion('10.15.1.29'), 101501)
  t.equal(cacheVersion('8.6.1'), 8601)
  t.throws(() => cacheVersion('ten'), { code: 'ERR_TRT_INVALID_ARGUMENT' })
})

t.test('a calibration as TensorRT has it', async (t) => {
  const ranges = new Map([
    ['x', { amax: 127 }],
    ['never anything', { amax: 0 }],
  ])
  const calibration = new Calibration(undefined, 1, {}, ranges)
  t.equal(calibration.toTensorRT({ version: '10.6.0' }), 'TRT-100600-EntropyCalibration2\nx: 3f800000\n')
  t.match(
    calibration.toTensorRT({ version: '10.6.0', algorithm: 'MinMaxCalibration' }),
    /^TRT-100600-MinMaxCalibration\n/,
  )
  for (const options of [{}, { version: 7 }, { version: '10.6', algorithm: 'mine' }, { version: '10.6', what: 1 }])
    t.throws(() => calibration.toTensorRT(options as { version: string }), { code: 'ERR_TRT_INVALID_ARGUMENT' })
})

t.test('what is no cache', async (t) => {
  for (const text of [
    '',
    'x: 3f800000\n',
    'TRT-1-A\nno colon',
    'TRT-1-A\nx: 3f80000g',
    'TRT-1-A\nx: 3f8000000',
    'TRT-1-A\nx: 7fc00000',
    'TRT-1-A\nx: bf800000',
  ])
    t.throws(() => Calibration.fromTensorRT(text), { code: 'ERR_TRT_CALIBRATION' }, JSON.stringify(text))
  const bad = (name: string, scale: number) => () =>
    formatTensorRTCache({ version: 1, algorithm: 'A', scales: new Map([[name, scale]]) })
  t.throws(bad('a\nb', 1), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /line break/ })
  for (const scale of [0, -1, NaN, Infinity, 1e-60]) t.throws(bad('x', scale), { code: 'ERR_TRT_INVALID_ARGUMENT' })
})
