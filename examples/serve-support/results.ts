import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { note } from '../support/program.js'

/** What it ran on, for people: figures of two machines are not compared. */
export function machineText(backend: 'cpu' | 'tensorrt'): string {
  const [first] = cpus()
  const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as { version: string }
  const runtime = backend === 'cpu' ? `onnxruntime-node ${version} on the CPU` : 'TensorRT'
  return `${cpus().length} cores of ${first?.model ?? 'a processor'}, shared by the server and who asks it; Node ${process.versions.node}; the model runs on ${runtime}`
}

/** All figures and the plot, in the folder, called so. */
export async function writeResults(
  folder: string,
  name: string,
  results: { readonly machine: string },
  drawing: string,
): Promise<void> {
  const [svg, file] = ['svg', 'json'].map((ending) => join(folder, `${name}.${ending}`)) as [string, string]
  await writeFile(svg, drawing)
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`)
  note(`On ${results.machine}`)
  note(`written to ${svg} and ${file}`)
}
