// Models to measure, and processes that build them.
import { type ChildProcess, spawn } from 'node:child_process'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { childEnvironment } from '../support/children.js'

const operators = ['Relu', 'Neg', 'Abs', 'Sqrt', 'Exp', 'Sigmoid', 'Tanh', 'Identity']

/** Layers of {@link chain}, each of which is measured once. */
export const chainLayers = operators.length

/** Eight operators in a row over [1, width]: no two of them, and none of another width, are measured as one. */
export function chain(width: number): Uint8Array {
  const graph = new GraphBuilder({ name: `chain-${width}` })
  let last = graph.input('x', 'float32', [1, width])
  for (const operator of operators) last = graph.node(operator, [last])
  graph.output(last, 'float32', [1, width])
  return writeModel(graph.toModel())
}

export interface Building {
  /** Widths, the last one excluded. */
  readonly from: number
  readonly to: number
  /** How often it goes through them. */
  readonly times: number
  readonly options?: object
}

/**
 * Builds chains in a process of its own, with the fakes, and says "built" after each; a failure's code and message are
 * printed.
 */
export function startBuilding(
  cache: string,
  tensorrt: string,
  { from, to, times, options }: Building,
  more: Record<string, string> = {},
): ChildProcess {
  const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)
  const program = `
    import { Builder } from ${url('../../lib/builder.js')}
    import { chain } from ${url('./timing-cache-rig.js')}
    const builder = new Builder(${JSON.stringify({ tensorrt: { library: tensorrt }, timingCache: cache, ...options })})
    const models = Array.from({ length: ${to - from} }, (_, i) => chain(${from} + i))
    for (let i = 0; i < ${times}; i++) for (const model of models) {
      try { await builder.build(model); process.stdout.write('built\\n') } catch (e) { console.log(e.code, e.message); process.exit(1) }
    }
  `
  const env = childEnvironment(more)
  return spawn(process.execPath, ['--input-type=module', '-e', program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
}

/**
 * Kills it amid its builds: when it has built `count`, and as far on its way to the next one as `part` says, from 0 to
 * 1. Rejects if it ended before that.
 */
export function killOnTheWay(child: ChildProcess, count: number, part: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let built = 0
    let last = performance.now()
    child
      .once('error', reject)
      .once('exit', (_code, signal) =>
        built >= count && signal === 'SIGKILL' ? resolve() : reject(new Error(`ended after ${built} builds`)),
      )
    child.stdout?.on('data', (data) => {
      const now = performance.now()
      built += String(data).split('built').length - 1
      if (built >= count) setTimeout(() => child.kill('SIGKILL'), part * (now - last))
      last = now
    })
  })
}
