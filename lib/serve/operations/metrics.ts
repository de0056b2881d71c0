// Metrics with Triton's names and labels (docs/user_guide/metrics.md of its server), for Prometheus. Whoever scrapes
// gets the values of that moment: nothing is counted twice, and a model that was unloaded is gone.
import type { Registry } from 'prom-client'
import type { EngineCounters } from '../../backend/backend.js'
import type { Servable } from '../models/servable.js'
import type { MetricsSettings } from '../options.js'
import type { PromClient } from '../peers.js'
import { ordered, requestNs } from './statistics.js'
import { readFileSync } from 'node:fs'
import { cpus, freemem, totalmem } from 'node:os'

export interface MetricsSource {
  /** The versions that answer now. */
  readonly servables: readonly Servable[]
  /** Seconds that the version took to load. */
  loadSeconds(servable: Servable): number | undefined
  /** Requests for the version that failed before its engine had them. */
  refused(servable: Servable): number
}

/** A version, its labels, and its counters, read once. */
interface Sample {
  readonly servable: Servable
  readonly labels: Labels
  readonly counters: EngineCounters
}

type Labels = Readonly<Record<string, string>>

interface Family {
  readonly name: string
  readonly help: string
  readonly kind: 'Counter' | 'Gauge'
  readonly values: (sample: Sample, source: MetricsSource) => readonly (readonly [value: number, more?: Labels])[]
}

/** A family with one value of the engine's counters. */
function counter(name: string, help: string, value: (counters: EngineCounters) => number): Family {
  return { name, help, kind: 'Counter', values: ({ counters }) => [[value(counters)]] }
}

const counts: readonly Family[] = [
  counter(
    'nv_inference_request_success',
    'Number of successful inference requests, all batch sizes',
    ({ requests }) => requests,
  ),
  {
    name: 'nv_inference_request_failure',
    help: 'Number of failed inference requests, all batch sizes',
    kind: 'Counter',
    values: ({ counters: { failures }, servable }, source) => [
      [failures.rejected + failures.queueTimeout, { reason: 'REJECTED' }],
      [failures.cancelledWaiting + failures.cancelledRunning, { reason: 'CANCELED' }],
      [failures.failed, { reason: 'BACKEND' }],
      [source.refused(servable) + (servable.invalid ?? 0), { reason: 'OTHER' }],
    ],
  },
  counter(
    'nv_inference_count',
    'Number of inferences performed (does not include cached requests)',
    ({ rows }) => rows,
  ),
  counter(
    'nv_inference_exec_count',
    'Number of model executions performed (does not include cached requests)',
    ({ executions }) => executions,
  ),
  {
    name: 'nv_inference_pending_request_count',
    help: 'Instantaneous number of pending requests awaiting execution per-model.',
    kind: 'Gauge',
    values: ({ servable: { pending } }) => (pending === undefined ? [] : [[pending]]),
  },
  {
    name: 'nv_model_load_duration_secs',
    help: 'Model load time in seconds',
    kind: 'Gauge',
    values: ({ servable }, source) => {
      const seconds = source.loadSeconds(servable)
      return seconds === undefined ? [] : [[seconds]]
    },
  },
]

function duration(name: string, what: string, cached: string, ns: (counters: EngineCounters) => number): Family {
  const help = `Cumulative ${what} duration in microseconds (${cached} cached requests)`
  return counter(`nv_inference_${name}_duration_us`, help, (counters) => Math.floor(ns(counters) / 1000))
}

const latencies: readonly Family[] = [
  duration('request', 'inference request', 'includes', requestNs),
  duration('queue', 'inference queuing', 'includes', ({ queueNs }) => queueNs),
  duration('compute_input', 'compute input', 'does not include', ({ inputNs }) => inputNs),
  duration('compute_infer', 'compute inference', 'does not include', ({ computeNs }) => computeNs),
  duration('compute_output', 'inference compute output', 'does not include', ({ outputNs }) => outputNs),
]

/** The names of all metrics of models, for the page. */
export const modelMetrics: readonly Pick<Family, 'name' | 'help' | 'kind'>[] = [...counts, ...latencies]

export class Metrics {
  readonly #prom: PromClient
  readonly #source: MetricsSource
  readonly #families: readonly Family[]
  readonly #cpu: CpuUse | undefined

  constructor(
    prom: PromClient,
    source: MetricsSource,
    { counterLatencies, cpu }: Pick<MetricsSettings, 'counterLatencies' | 'cpu'>,
  ) {
    this.#prom = prom
    this.#source = source
    this.#families = counterLatencies ? [...counts, ...latencies] : counts
    this.#cpu = cpu ? new CpuUse() : undefined
  }

  /** All metrics as they are now, as text that Prometheus reads. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    const registry = new this.#prom.Registry()
    const samples = ordered(this.#source.servables).map((servable): Sample => ({
      servable,
      labels: labelsOf(servable),
      counters: servable.counters(),
    }))
    for (const family of this.#families) this.#add(registry, family, samples)
    if (this.#cpu) this.#addMachine(registry, this.#cpu)
    return { contentType: registry.contentType, body: await registry.metrics() }
  }

  #add(registry: Registry, { name, help, kind, values }: Family, samples: readonly Sample[]): void {
    const points = samples.flatMap((sample) =>
      values(sample, this.#source).map(([value, more]) => ({ value, labels: { ...sample.labels, ...more } })),
    )
    // models may have tags of their own: a family has the labels of all
    const labelNames = [...new Set(['model', 'version', ...points.flatMap(({ labels }) => Object.keys(labels))])]
    const metric = new this.#prom[kind]({ name, help, labelNames, registers: [registry] })
    for (const { value, labels } of points) metric.inc(labels, value)
  }

  #addMachine(registry: Registry, cpu: CpuUse): void {
    const gauge = (name: string, help: string, value: number): void =>
      new this.#prom.Gauge({ name, help, registers: [registry] }).set(value)
    const memory = memoryInfo()
    gauge('nv_cpu_utilization', 'CPU utilization rate [0.0 - 1.0]', cpu.share())
    gauge('nv_cpu_memory_total_bytes', 'CPU total memory (RAM), in bytes', memory.total)
    gauge('nv_cpu_memory_used_bytes', 'CPU used memory (RAM), in bytes', memory.used)
  }
}

/** The config's metric_tags have an underscore before their names, as in Triton; what no label may have becomes one. */
function labelsOf({ name, version, config }: Servable): Labels {
  const tags = Object.entries(config.metricTags).map(
    ([tag, value]) => [`_${tag.replaceAll(/\W/g, '_')}`, value] as const,
  )
  return { model: name, version, ...Object.fromEntries(tags) }
}

/** How busy the machine's processors were between two looks. */
export class CpuUse {
  #before = times()

  /** From 0 to 1, since the last call or since this was made. */
  share(): number {
    const now = times()
    const total = now.total - this.#before.total
    const idle = now.idle - this.#before.idle
    this.#before = now
    return total > 0 ? Math.min(1, Math.max(0, 1 - idle / total)) : 0
  }
}

/** Milliseconds of all processors since the machine started. */
function times(): { readonly idle: number; readonly total: number } {
  const all = cpus().map(({ times: { user, nice, sys, idle, irq } }) => ({
    idle,
    total: user + nice + sys + idle + irq,
  }))
  return all.reduce((sum, each) => ({ idle: sum.idle + each.idle, total: sum.total + each.total }), {
    idle: 0,
    total: 0,
  })
}

/** Bytes; what is used is what programs could not get, which the kernel's caches are not part of. */
export function memoryInfo(): { readonly total: number; readonly used: number } {
  const total = totalmem()
  return { total, used: total - (availableBytes() ?? freemem()) }
}

function availableBytes(): number | undefined {
  try {
    const [, kibibytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? []
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
  } catch {
    return undefined
  }
}
