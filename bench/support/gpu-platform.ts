import { capabilities } from '../../lib/index.js'
import type { Platform } from './gpu-rows.js'

/** The GPU, the driver and the TensorRT of this machine, or why nothing can be measured. */
export async function platformHere(): Promise<Platform | string> {
  const { gpus, tensorrt, driver } = await capabilities()
  const [gpu] = gpus
  const library = tensorrt.find(({ canBuild, canRun }) => canBuild && canRun)
  if (gpu === undefined)
    return `This bench needs an NVIDIA GPU, but this machine has none (${driver.error ?? 'no GPU was found'}).`
  if (library === undefined) return 'This bench needs a TensorRT that builds and runs here: set TENSORRT_PATH.'
  return {
    gpu: gpu.name,
    cuda: driver.cuda ?? '?',
    tensorrt: `${library.kind ?? '?'} ${library.version ?? '?'}`,
  }
}
