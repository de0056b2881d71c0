import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlFakes } from '../fake/control.js'
import { buildFakes } from '../fake/build.js'

/** The fakes, built and made the driver of this process, with an engine cache of its own. To be awaited before the addon looks for a driver. */
export async function useFakes() {
  const fakes = await buildFakes()
  process.env['NODE_TENSORRT_LIBCUDA'] = fakes.cuda
  delete process.env['TENSORRT_PATH']
  if (process.env['NODE_TENSORRT_CACHE'] === undefined) {
    const cache = mkdtempSync(join(tmpdir(), 'trt-cache-'))
    process.env['NODE_TENSORRT_CACHE'] = cache
    process.once('exit', () => rmSync(cache, { recursive: true, force: true }))
  }
  return { fakes, ...controlFakes(fakes) }
}
