import Table from 'cli-table3'
import { capabilities, type Capabilities, type TensorRTLibrary } from '../capabilities.js'

/** `trt doctor`: exits with 0 whatever it finds; what is missing is an answer, not a failure. */
export async function doctor({ tensorrt, json }: { tensorrt?: string; json?: true }): Promise<void> {
  const found = await capabilities(tensorrt === undefined ? {} : { tensorrt })
  process.stdout.write(json ? `${JSON.stringify(found, null, 2)}\n` : report(found))
}

function report(found: Capabilities): string {
  const { platform, addon, driver, gpus, cpu } = found
  const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`
  const lines = [
    section('system', `Node ${platform.node}, ${platform.os} ${platform.arch}`),
    section('addon', addon.loaded ? 'loaded' : `not loaded: ${addon.error ?? ''}`),
    section(
      'driver',
      driver.found
        ? `CUDA ${driver.cuda ?? '?'}, ${driver.path ?? ''}${driver.error ? `: ${driver.error}` : ''}`
        : (driver.error ?? 'none'),
    ),
    ...(gpus.length === 0
      ? [section('GPUs', 'none')]
      : gpus.map((gpu) => section(`GPU ${gpu.index}`, `${gpu.name}, compute capability ${gpu.computeCapability}, ${gib(gpu.memory)}`))),
    section('CPU backend', onCpu(cpu)),
  ]
  return `${lines.join('\n')}\n\n${libraries(found.tensorrt)}\n${advice(found)}`
}

function onCpu({ available, version, path }: Capabilities['cpu']): string {
  if (!available) return 'not installed'
  const name = version === undefined ? 'onnxruntime' : `onnxruntime-node ${version}`
  return path === undefined ? `${name}, in a worker: the addon is not loaded` : `${name}, ${path}`
}

function section(name: string, text: string): string {
  return `${name.padEnd(12)} ${text}`
}

function libraries(list: readonly TensorRTLibrary[]): string {
  if (list.length === 0) return 'No TensorRT library was found.\n'
  const table = new Table({ head: ['TensorRT', 'kind', 'builds', 'runs', 'found by', 'path'], style: { head: [], border: [] } })
  const mark = (yes: boolean): string => (yes ? 'yes' : 'no')
  for (const { version, kind, canBuild, canRun, foundBy, path, error, cannotBuild, cannotRun } of list) {
    const lines = [path, error, cannotBuild, cannotRun].filter((line) => line !== undefined)
    table.push([version ?? '?', kind ?? '?', mark(canBuild), mark(canRun), foundBy, lines.join('\n')])
  }
  return `${table.toString()}\n`
}

function advice({ missing }: Capabilities): string {
  if (missing.length === 0) return 'Nothing is missing.\n'
  return `Missing:\n${missing.map(({ what, for: use, remedy }) => `- ${what}, for ${use}\n  → ${remedy}`).join('\n')}\n`
}
