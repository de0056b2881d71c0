import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { packageRoot } from '../../lib/base/package.js'
import { TensorRTError } from 'node-tensorrt'
import type { ServerAddresses } from 'node-tensorrt/serve'

/** `trt serve` in a process of its own, as it is in production: who asks and who answers do not share an event loop. */
export interface ServerProcess extends AsyncDisposable {
  readonly addresses: ServerAddresses
}

const fronts = ['http', 'grpc', 'metrics']

/** Starts it on ports that are free, and waits until its models are loaded. Its log goes to this program's stderr. */
export async function startServer(repository: string, flags: readonly string[] = []): Promise<ServerProcess> {
  const command = join(packageRoot(), 'dist/lib/cli/trt.js')
  const places = fronts.flatMap((front) => [`--${front}-port=0`, `--${front}-address=127.0.0.1`])
  const args = [command, 'serve', `--model-repository=${repository}`, ...places, '--log-info=false', '--json', ...flags]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  try {
    const addresses = JSON.parse(await firstResult(child)) as ServerAddresses
    return { addresses, [Symbol.asyncDispose]: () => ended(child, exit) }
  } catch (cause) {
    await ended(child, exit)
    throw new TensorRTError('ERR_TRT_SERVER', 'The server ended before it was ready: its reason is above', { cause })
  }
}

/** What it prints once it is ready: an object, and nothing after it until the end. */
async function firstResult(child: ChildProcess): Promise<string> {
  let printed = ''
  for await (const piece of child.stdout ?? []) {
    printed += String(piece)
    if (printed.endsWith('}\n')) break
  }
  return printed
}

/** As a container ends it: what is under way is answered before. */
async function ended(child: ChildProcess, exit: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM')
  await exit
}
