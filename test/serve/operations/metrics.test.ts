// Metrics for Prometheus: Triton's names and labels, with the values of the moment.
import t from 'tap'
import type { Servable } from '../../../lib/serve/models/servable.js'
import { Metrics, modelMetrics } from '../../../lib/serve/operations/metrics.js'
import type { MetricsSettings } from '../../../lib/serve/options.js'
import { loadPeer } from '../../../lib/serve/peers.js'
import { silent } from './servables.js'

const prom = await loadPeer('prom-client')

async function scraped(servables: readonly Servable[], settings: Partial<MetricsSettings> = {}): Promise<string[]> {
  const source = { servables, loadSeconds: () => 1.5, refused: () => 7 }
  const { body, contentType } = await new Metrics(prom, source, {
    counterLatencies: true,
    cpu: false,
    ...settings,
  }).text()
  t.equal(contentType, 'text/plain; version=0.0.4; charset=utf-8')
  return body.split('\n').filter((line) => line !== '')
}

const values = (lines: readonly string[]): string[] => lines.filter((line) => line !== '' && !line.startsWith('#'))

t.test('each model has its counters, durations in whole microseconds', async (t) => {
  const counters = {
    requests: 3,
    rows: 9,
    executions: 2,
    failures: { rejected: 1, queueTimeout: 2, cancelledWaiting: 4, cancelledRunning: 8, failed: 16 },
    queueNs: 1_000_999,
    inputNs: 2000,
    computeNs: 3999,
    outputNs: 999,
  }
  const lines = await scraped([silent('m', '1', counters, { pending: 5 })])
  t.strictSame(values(lines), [
    'nv_inference_request_success{model="m",version="1"} 3',
    'nv_inference_request_failure{model="m",version="1",reason="REJECTED"} 3',
    'nv_inference_request_failure{model="m",version="1",reason="CANCELED"} 12',
    'nv_inference_request_failure{model="m",version="1",reason="BACKEND"} 16',
    'nv_inference_request_failure{model="m",version="1",reason="OTHER"} 7',
    'nv_inference_count{model="m",version="1"} 9',
    'nv_inference_exec_count{model="m",version="1"} 2',
    'nv_inference_pending_request_count{model="m",version="1"} 5',
    'nv_model_load_duration_secs{model="m",version="1"} 1.5',
    'nv_inference_request_duration_us{model="m",version="1"} 1007',
    'nv_inference_queue_duration_us{model="m",version="1"} 1000',
    'nv_inference_compute_input_duration_us{model="m",version="1"} 2',
    'nv_inference_compute_infer_duration_us{model="m",version="1"} 3',
    'nv_inference_compute_output_duration_us{model="m",version="1"} 0',
  ])
  t.ok(lines.includes('# TYPE nv_inference_request_success counter'))
  t.ok(lines.includes('# TYPE nv_inference_pending_request_count gauge'))
  t.ok(lines.includes('# HELP nv_inference_count Number of inferences performed (does not include cached requests)'))
})

t.test('tags of a model are labels, beside models that have others or none', async (t) => {
  const lines = await scraped([
    silent('a', '1', {}, { tags: { team: 'x', 'cost-centre': '7' } }),
    silent('b', '2', {}, { tags: { city: 'y' } }),
    silent('c', '1'),
  ])
  t.strictSame(
    values(lines).filter((line) => line.startsWith('nv_inference_count')),
    [
      'nv_inference_count{model="a",version="1",_team="x",_cost_centre="7"} 0',
      'nv_inference_count{model="b",version="2",_city="y"} 0',
      'nv_inference_count{model="c",version="1"} 0',
    ],
  )
})

t.test('values are of the moment: a model that is gone has none, and no scrape adds to the one before', async (t) => {
  const state = { servables: [silent('m', '1', { requests: 2 })] }
  const source = {
    get servables() {
      return state.servables
    },
    loadSeconds: () => undefined,
    refused: () => 0,
  }
  const metrics = new Metrics(prom, source, { counterLatencies: false, cpu: false })
  const success = async (): Promise<string[]> =>
    values((await metrics.text()).body.split('\n')).filter((line) => line.includes('_success{'))
  t.strictSame(await success(), ['nv_inference_request_success{model="m",version="1"} 2'])
  t.strictSame(await success(), ['nv_inference_request_success{model="m",version="1"} 2'])
  state.servables = []
  t.strictSame(await success(), [])
  t.strictSame(values((await metrics.text()).body.trim().split('\n')), [])
  t.match((await metrics.text()).body, /# TYPE nv_inference_request_success counter/)
})

t.test('without durations, where these are not wanted, and what is not known is left out', async (t) => {
  const lines = await scraped([silent('m', '1')], { counterLatencies: false })
  t.notMatch(lines.join('\n'), /_duration_us/)
  t.notMatch(values(lines).join('\n'), /pending/, 'this model does not tell what waits')
  t.equal(modelMetrics.length, 11)
})

t.test('the machine has processors and memory', async (t) => {
  const lines = values(await scraped([], { cpu: true }))
  const of = (name: string): number => Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1])
  t.ok(of('nv_cpu_utilization') >= 0 && of('nv_cpu_utilization') <= 1)
  t.ok(of('nv_cpu_memory_used_bytes') > 0 && of('nv_cpu_memory_used_bytes') <= of('nv_cpu_memory_total_bytes'))
})
