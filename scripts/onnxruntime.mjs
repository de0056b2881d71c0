// @ts-check
// Python's onnxruntime for tests: what it gives for data types that onnxruntime-node has not, and a library of another
// version than that one's. ONNX's own package, whose
// checker and reference evaluator are oracles; and for the bench `quantize` both.
import { ensureWheel } from './wheels.mjs'

/** Of each for Python 3.11 to 3.14, by Node's names of the architectures. */
const onnxruntime = {
  version: '1.31.1',
  megabytes: 24,
  x64: [
    '5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f',
    '1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536',
    '74a6a52994616c4d18b33db1e13c226333a70a6ba07480a5cab9c2a50dff1430',
    'c20d7f15d84427db070b163f78c2c7146cc93edd6113fa7327671259a24184fe',
  ],
  arm64: [
    'da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3',
    '0b9a492176886992e0e875f06bc0367e333f5fff11711a2d642e18b02f3009cc',
    'dcaedc50333876f3829ab966b242147f0e548229e29c36fe44622ecf748c25ee',
    'c878686b75cade1ed59131aa018ab004b1e64368b0d54041912450b9642cf04f',
  ],
}

/** Without which it is not imported. */
const numpy = {
  version: '2.3.5',
  megabytes: 16,
  x64: [
    '8cba086a43d54ca804ce711b2a940b16e452807acebe7852ff327f1ecd49b0d4',
    '0d8163f43acde9a73c2a33605353a4f1bc4798745a8b1d73183b28e5b435ae28',
    '11e06aa0af8c0f05104d56450d6093ee639e15f24ecf62d417329d06e522e017',
    'fffe29a1ef00883599d1dc2c51aa2e5d80afe49523c261a74933df395c15c520',
  ],
  arm64: [
    '3095bdb8dd297e5920b010e96134ed91d852d81d490e787beca7e35ae1d89cf7',
    '8b973c57ff8e184109db042c842423ff4f60446239bd585a5131cc47f06f789d',
    '9c75442b2209b8470d6d5d8b1c25714270686f14c749028d2199c54e29f20b4d',
    '727fd05b57df37dc0bcf1a27767a3d9a78cbbc92822445f32cc3436ba797337b',
  ],
}

/** ONNX and what it imports; onnxruntime.quantization imports them, too. */
const tools = {
  onnx: {
    version: '1.23.2',
    megabytes: 9,
    x64: [
      'c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348',
      '7abf381d278f31ac62487fddedc9dd42da842dce94d5d43536836ee3efdf4a2b',
    ],
    arm64: [
      '83b3fc8321303c9da62824730457ba2f7ae0970f0e2f7fc0117912df7f8a4826',
      'a203efdbaabbbe8f25e854e2b2921382d6fcf4c67895656f939044b0632974e8',
    ],
  },
  ml_dtypes: {
    version: '0.6.0',
    megabytes: 1,
    x64: [
      '6c8e39b53e90afda8ce52859c93de4dba3e02b76d85dcf091cc469f9184c6dae',
      '3b4a480aa8fd54a1805b8ac10f3f91763926a74f73c0c364c10f9231854f4170',
      '26b1f1fa4f0435a2946859823f6e2bf06796f1e9f10f5a05b08a5e3c8f46ff69',
      '8f490c003369ce60e514a0c3b12374f05274c101fee1bead6740ec8a564032b0',
    ],
    arm64: [
      '7728c0420ec1c338564fc8b01015ff2d58567e70f17fedce5a0a7c0308c0d5b9',
      '37da32aa97749251025666d62372775019594577b9c9e9cfda83bed48d778fdb',
      '28d676428b104bb9717b0928bc5c5129f2d6b51b6727587cc4289e7bf8713cb5',
      '317be9967fb84b0ce4e80e6b1bf71213d21971621cf6f1e501a63602a95297bf',
    ],
  },
  protobuf: {
    version: '7.36.2',
    megabytes: 1,
    x64: ['89f23aa53c24553a2416fd4fd1ec06f74fa42b14b546d8883128813f775bbfd2'],
    arm64: ['e11e1f0180583a2af89db6a2ecd9e8dc40aa6d2988ca175bfd0e6d12ea72d74e'],
  },
  typing_extensions: {
    version: '4.16.0',
    megabytes: 1,
    x64: ['481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8'],
    arm64: ['481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8'],
  },
}

/** What of a wheel has to be there. */
const fileOf = {
  onnx: 'onnx/__init__.py',
  ml_dtypes: 'ml_dtypes/__init__.py',
  protobuf: 'google/protobuf/__init__.py',
  typing_extensions: 'typing_extensions.py',
}

/**
 * Sees to both; `path` is for Python's module path, onnxruntime's folder first.
 *
 * @returns {Promise<{ path?: string, reason?: string }>}
 */
export const ensurePythonOnnxRuntime = async () => {
  const library = await ensure('onnxruntime', onnxruntime, `onnxruntime/capi/libonnxruntime.so.${onnxruntime.version}`)
  if (!library.path) return library
  const arrays = await ensure('numpy', numpy, 'numpy/__init__.py')
  return arrays.path ? { path: `${library.path}:${arrays.path}` } : arrays
}

/**
 * The same with what its tools for quantization need.
 *
 * @returns {Promise<{ path?: string, reason?: string }>}
 */
export const ensurePythonQuantization = async () => withTools(await ensurePythonOnnxRuntime())

/**
 * ONNX's own package, with its checker and its reference evaluator, and what it needs.
 *
 * @returns {Promise<{ path?: string, reason?: string }>}
 */
export const ensurePythonOnnx = async () => withTools(await ensure('numpy', numpy, 'numpy/__init__.py'))

/** ONNX's tests of nodes are in its wheels up to this version, for Python 3.11 to 3.13; newer ones have a generator. */
const nodes = {
  version: '1.18.0',
  megabytes: 17,
  x64: [
    '6acafb3823238bbe8f4340c7ac32fb218689442e074d797bee1c5c9a02fdae75',
    '99afac90b4cdb1471432203c3c1f74e16549c526df27056d39f41a9a47cfb4af',
    '3c137eecf6bc618c2f9398bcc381474b55c817237992b169dfe728e169549e8f',
  ],
  arm64: [
    '73160799472e1a86083f786fecdf864cf43d55325492a9b5a1cfa64d8a523ecc',
    'e4da451bf1c5ae381f32d430004a89f0405bc57a8471b0bddb6325a5b334aa40',
    '8521544987d713941ee1e591520044d35e702f73dc87e91e6d4b15a064ae813d',
  ],
}

/**
 * ONNX's own tests of nodes: a folder of folders with a model, inputs and outputs.
 *
 * @returns {Promise<{ path?: string, reason?: string }>}
 */
export const ensureOnnxNodes = async () => ensure('onnx', nodes, 'test_abs/model.onnx', 'onnx/backend/test/data/node')

/** @returns {Promise<{ path?: string, reason?: string }>} */
const withTools = async (/** @type {{ path?: string, reason?: string }} */ had) => {
  const paths = [had.path]
  for (const [name, wheel] of Object.entries(tools)) {
    const { path, reason } = had.path
      ? await ensure(name, wheel, fileOf[/** @type {keyof typeof tools} */ (name)])
      : had
    if (!path) return { reason: reason ?? `there is no ${name}` }
    paths.push(path)
  }
  return { path: paths.join(':') }
}

/**
 * @param {string} name
 * @param {typeof onnxruntime} wheel
 * @param {string} file
 * @param {string} [folder]
 */
const ensure = async (name, wheel, file, folder = '.') => {
  const { version, megabytes } = wheel
  const sha256 = process.platform === 'linux' ? wheel[/** @type {'x64' | 'arm64'} */ (process.arch)] : undefined
  if (!sha256) return { reason: `${name} ${version} is known for Linux on x64 and arm64 only` }
  return await ensureWheel({ what: `Python's ${name}`, name, version, sha256, megabytes, folder, files: [file] })
}
