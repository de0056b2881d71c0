import type { Benchmark } from '../types.js'
import { plural } from './numbers.js'

export type Fact = readonly [name: string, words: string]

/** What all of these have in common of what they ran on and were measured with. */
export function sharedFacts(benchmarks: readonly Benchmark[]): Fact[] {
  const [first = [], ...others] = benchmarks.map(factsOf)
  return first.filter(([name, words]) =>
    others.every((facts) => facts.some((fact) => fact[0] === name && fact[1] === words)),
  )
}

function factsOf(benchmark: Benchmark): Fact[] {
  const { runtime, device, model, settings, warmUp, queries, wallMs } = benchmark
  return [
    ...(model === undefined ? [] : [['model', model] as const]),
    ['runtime', runtime],
    ['device', deviceText(device)],
    [
      'inputs',
      Object.entries(settings.shapes)
        .map(([name, shape]) => `${name} [${shape.join(', ')}]`)
        .join(', ') || 'none',
    ],
    ['streams', settings.streams === 1 ? '1' : `${settings.streams}${settings.threads ? ', a thread each' : ''}`],
    [
      'measured',
      `${plural(queries, 'query', 'queries')} in ${seconds(wallMs)}, after ${plural(warmUp.queries, 'query', 'queries')} in ${seconds(warmUp.ms)} to warm up`,
    ],
    [
      'asked for',
      `${seconds(settings.durationMs)} and ${plural(settings.iterations, 'query', 'queries')} at least, ${seconds(settings.warmUpMs)} of warm-up`,
    ],
    ['with', mannerOf(benchmark).join(', ')],
  ]
}

const deviceText = ({ index, name }: Benchmark['device']): string =>
  index < 0 ? (name ?? 'CPU') : `${name ?? 'GPU'} (number ${index})`

const seconds = (ms: number): string => `${Number((ms / 1000).toPrecision(3))} s`

/** How queries were put to the device. */
function mannerOf({ backend, settings }: Benchmark): string[] {
  const { transfers, cudaGraph, spinWait, depth, profile, sleepMs, idleMs } = settings
  return [
    transfers ? 'copies of inputs and outputs' : 'no copies',
    depth === 2 ? 'two queries under way in a stream' : 'one query at a time in a stream',
    ...(backend === 'cpu' ? [] : [cudaGraph ? 'a CUDA graph' : 'no CUDA graph']),
    ...(spinWait ? ['busy waiting'] : []),
    ...(profile > 0 ? [`optimization profile ${profile}`] : []),
    ...(sleepMs > 0 ? [`a pause of ${sleepMs} ms before the first`] : []),
    ...(idleMs > 0 ? [`${idleMs} ms of idleness between two`] : []),
  ]
}
