// Facts about the GPU from NVIDIA's own tool.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** A line for each GPU, by `nvidia-smi --query-gpu`. Rejects if nvidia-smi is not installed. */
export async function queryGpus(...fields: string[]): Promise<string[]> {
  const args = [`--query-gpu=${fields.join()}`, '--format=csv,noheader,nounits']
  const { stdout } = await promisify(execFile)('nvidia-smi', args)
  return stdout.trim().split('\n')
}

/** Device memory in use on the first GPU, by all processes, in bytes. */
export async function usedMemory(): Promise<number> {
  const [first] = await queryGpus('memory.used')
  return Number(first) * 2 ** 20
}
