// The driver and its GPUs: what runs before TensorRT has arrived on the machine.
import { readdirSync } from 'node:fs'
import { capabilities } from '../../lib/index.js'
import { runProgram } from './check.js'
import { queryGpus } from './nvidia.js'

const deviceFiles = (): number => readdirSync('/dev').filter((name) => /^nvidia\d+$/.test(name)).length

function isPartOf(gpu: string, listed: string): boolean {
  const [name = '', computeCapability = ''] = listed.split(', ')
  return gpu.startsWith(name) && gpu.endsWith(`, ${computeCapability}`)
}

await runProgram('driver', async ({ check }) => {
  const { driver, gpus } = await capabilities()
  await check('loads every function of the driver', { found: true }, () => {
    const { found, error } = driver
    return error === undefined ? { found } : { found, error }
  })
  // without nvidia-smi the number of device files is the only other source
  const listed = await queryGpus('name', 'compute_cap').catch(() => undefined)
  if (listed !== undefined)
    await check(
      'finds every GPU',
      listed,
      () => gpus.map((gpu) => `${gpu.name}, ${gpu.computeCapability}`),
      // a part of a GPU (MIG) adds its size to the name
      (found) => found.length === listed.length && found.every((gpu, i) => isPartOf(gpu, listed[i] ?? '')),
    )
  else
    await check(
      'finds every GPU',
      `${Math.max(deviceFiles(), 1)} GPUs with a name, a compute capability and memory`,
      () => gpus,
      (found) =>
        found.length === Math.max(deviceFiles(), 1) &&
        found.every(
          ({ name, computeCapability, memory }) => name !== '' && /^\d+\.\d+$/.test(computeCapability) && memory > 0,
        ),
    )
})
