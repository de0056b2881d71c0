/** TensorRT-RTX as scripts/test.mjs provides it, or the reason why tests that build real engines are skipped. */
export const rtxPath = process.env['TENSORRT_PATH']
export const skipWithoutRtx =
  rtxPath === undefined ? 'TENSORRT_PATH is not set: no TensorRT-RTX could be fetched' : false

/**
 * Python's module path with onnxruntime as scripts/onnxruntime.mjs provides it, that one's folder first, or the reason
 * why tests that need it are skipped.
 */
export const pythonPath = process.env['TRT_TEST_PYTHONPATH']
export const skipWithoutPython =
  pythonPath === undefined ? "TRT_TEST_PYTHONPATH is not set: no Python's onnxruntime could be fetched" : false

/**
 * Python's module path with ONNX's own package as scripts/onnxruntime.mjs provides it, or the reason why tests that ask
 * it are skipped.
 */
export const onnxPythonPath = process.env['TRT_TEST_ONNX_PYTHONPATH']
export const skipWithoutOnnx =
  onnxPythonPath === undefined ? "TRT_TEST_ONNX_PYTHONPATH is not set: no Python's onnx could be fetched" : false

/** CenterFace's ONNX file as scripts/centerface.mjs provides it, or the reason why tests that need it are skipped. */
export const centerFacePath = process.env['TRT_TEST_CENTERFACE']
export const skipWithoutCenterFace =
  centerFacePath === undefined ? 'TRT_TEST_CENTERFACE is not set: no CenterFace could be fetched' : false
