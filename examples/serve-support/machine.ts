import { createRequire } from 'node:module'
import { cpus } from 'node:os'

/** What it ran on, for people: figures of two machines are not compared. */
export function machineText(backend: 'cpu' | 'tensorrt'): string {
  const [first] = cpus()
  const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as { version: string }
  const runtime = backend === 'cpu' ? `onnxruntime-node ${version} on the CPU` : 'TensorRT'
  return `${cpus().length} cores of ${first?.model ?? 'a processor'}, shared by the server and who asks it; Node ${process.versions.node}; the model runs on ${runtime}`
}
