/** TensorRT-RTX as scripts/test.mjs provides it, or the reason why tests that build real engines are skipped. */
export const rtxPath = process.env['TENSORRT_PATH']
export const skipWithoutRtx = rtxPath === undefined ? 'TENSORRT_PATH is not set: no TensorRT-RTX could be fetched' : false
