// @ts-check
// What tests need beyond the addon and dist/, and the variables of the environment that tell them where it is.
import { platform } from 'node:process'
import { ensureCenterFace } from './centerface.mjs'
import { buildFakes } from './fakes.mjs'
import { ensureOnnxNodes, ensurePythonOnnx, ensurePythonOnnxRuntime } from './onnxruntime.mjs'
import { say } from './support.mjs'
import { ensureTensorRT } from './tensorrt.mjs'
import { ensureTritonClient } from './tritonclient.mjs'

/** @returns {Promise<Record<string, string>>} what could be had; of the rest the reason is told */
export const prepareTests = async () => {
  const fakes = prepareFakes()
  const needed = {
    TENSORRT_PATH: await ensureTensorRT(),
    TRT_TEST_CENTERFACE: await ensureCenterFace(),
    TRT_TEST_PYTHONPATH: await ensurePythonOnnxRuntime(),
    TRT_TEST_ONNX_PYTHONPATH: await ensurePythonOnnx(),
    TRT_TEST_ONNX_NODES: await ensureOnnxNodes(),
    TRT_TEST_TRITONCLIENT: await ensureTritonClient(),
  }
  /** @type {Record<string, string>} */
  const had = {}
  for (const [name, { path, reason }] of Object.entries(needed)) {
    if (path) had[name] = path
    else say(`${reason}\nThe tests that need it will be skipped.`)
  }
  return { ...had, ...(await fakes) }
}

/** @returns {Promise<Record<string, string>>} */
export const prepareFakes = async () => (platform === 'linux' ? { NODE_TENSORRT_FAKES: await buildFakes() } : {})
