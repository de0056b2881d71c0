// What the tests with NVIDIA's tritonclient share: models that are asked, and what a program tells of its asking.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { datatypes } from '../../lib/kserve/tensor.js'
import { putIdentity } from './repositories.js'

/** A folder for PYTHONPATH. */
export const client = process.env['TRT_TEST_TRITONCLIENT']
export const absence = client === undefined && "NVIDIA's tritonclient is not here"

export interface Refusal {
  readonly status?: string
  readonly message?: string
}

/** As the programs tell it: names of what was done, with what came. */
export interface Asked {
  readonly facts: Readonly<Record<string, unknown>>
  readonly control: Readonly<Record<string, unknown>>
  readonly inference: Readonly<Record<string, boolean>>
  readonly with_plugin: Readonly<Record<string, unknown>>
  readonly absent: Readonly<Record<string, Refusal>>
  readonly errors: Readonly<Record<string, Refusal>>
  readonly methods: readonly string[]
  readonly called: readonly string[]
}

export interface Answers<Of extends Asked> {
  readonly version: string
  readonly sync: Of
  readonly aio: Of
}

const others = ['cls', 'held', 'ranked']
export const names = [...others, ...datatypes.map((datatype) => `ident_${datatype.toLowerCase()}`)].sort()

export function putModels(repository: string): void {
  for (const datatype of datatypes) {
    const config = datatype === 'BYTES' ? '' : 'dynamic_batching {}' // texts do not merge
    putIdentity(repository, `ident_${datatype.toLowerCase()}`, { datatype, config })
  }
  putIdentity(repository, 'cls', { dims: [4], maxBatchSize: 4, labels: ['apple', 'pickle', 'banana', 'cherry'] })
  putIdentity(repository, 'ranked', { config: 'dynamic_batching { priority_levels: 3 default_priority_level: 2 }' })
  // a batch of two rows waits for a minute here, unless its request gives up
  putIdentity(repository, 'held', {
    config: 'dynamic_batching { preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 60000000 }',
  })
}

/** Runs a program of this folder, and gives what it prints. */
export async function tellingOf<Of extends Asked>(program: string, ...args: readonly string[]): Promise<Answers<Of>> {
  const path = fileURLToPath(new URL(`../../../test/serve/${program}`, import.meta.url))
  const { stdout } = await promisify(execFile)('python3', [path, ...args], {
    env: { ...process.env, PYTHONPATH: client, PYTHONDONTWRITEBYTECODE: '1' },
    maxBuffer: 2 ** 24,
  })
  return JSON.parse(stdout) as Answers<Of>
}

/** What a client is told of control over models, over HTTP and gRPC alike. */
export const controlled = {
  unload_model: false,
  load_model: true,
  'load_model, config': 4,
  "load_model, the repository's again": 8,
  'load_model, files': true,
  'unload_model, unload_dependents': false,
}
