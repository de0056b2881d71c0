// The driver and its GPUs: what runs before TensorRT has arrived on the machine.
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { capabilities } from '../../lib/index.js'
import { runProgram } from './check.js'

/** Names and compute capabilities by NVIDIA's own tool; without it, the number of device files is the only source. */
async function gpusOfNvidia(): Promise<string[] | undefined> {
  try {
    const query = ['--query-gpu=name,compute_cap', '--format=csv,noheader']
    const { stdout } = await promisify(execFile)('nvidia-smi', query)
    return stdout.trim().split('\n')
  } catch {
    return undefined
  }
}

const deviceFiles = (): number => readdirSync('/dev').filter((name) => /^nvidia\d+$/.test(name)).length

await runProgram('driver', async ({ check }) => {
  const { driver, gpus } = await capabilities()
  await check('loads every function of the driver', { found: true }, () => {
    const { found, error } = driver
    return error === undefined ? { found } : { found, error }
  })
  const listed = await gpusOfNvidia()
  if (listed !== undefined)
    await check('finds every GPU', listed, () => gpus.map((gpu) => `${gpu.name}, ${gpu.computeCapability}`))
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
