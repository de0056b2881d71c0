// @ts-check
// Python's onnxruntime for tests: what it gives for data types that onnxruntime-node has not, and a library of another version than that one's.
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
 * @param {string} name
 * @param {typeof onnxruntime} wheel
 * @param {string} file
 */
const ensure = async (name, wheel, file) => {
  const { version, megabytes } = wheel
  const sha256 = process.platform === 'linux' ? wheel[/** @type {'x64' | 'arm64'} */ (process.arch)] : undefined
  if (!sha256) return { reason: `${name} ${version} is known for Linux on x64 and arm64 only` }
  return await ensureWheel(name, { what: `Python's ${name}`, name, version, sha256, megabytes, folder: '.', files: [file] })
}
