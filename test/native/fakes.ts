import { controlFakes } from '../fake/control.js'
import { buildFakes } from '../fake/build.js'

/** The fakes, built and made the driver of this process. To be awaited before the addon looks for a driver. */
export async function useFakes() {
  const fakes = await buildFakes()
  process.env['NODE_TENSORRT_LIBCUDA'] = fakes.cuda
  delete process.env['TENSORRT_PATH']
  return { fakes, ...controlFakes(fakes) }
}
