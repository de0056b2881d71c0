// node dist/test/recordings/play.js: plays all scenarios on the TensorRT at $TENSORRT_PATH, in this process, and prints
// a line of JSON for the library and one for each scenario, so that those before it are there where a library ends the
// process. $NODE_TENSORRT_LIBCUDA says which driver there is, as it does for every program; scenarios that need a GPU
// are left out where there is none.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capabilities } from '../../lib/index.js'
import { Recorder, type Recording } from './recorder.js'
import { canPlay, type Scenario } from './scenarios/scenario.js'
import { scenarios } from './scenarios.js'

const print = (line: unknown): void => void process.stdout.write(`${JSON.stringify(line)}\n`)

const { tensorrt, gpus } = await capabilities()
const [library] = tensorrt
if (library?.kind === undefined || library.version === undefined)
  throw new Error(`no TensorRT: ${library?.error ?? 'TENSORRT_PATH has none'}`)
const [gpu] = gpus
const { kind, path, version } = library
print({ format: 1, kind, version, ...(gpu && { gpu: gpu.computeCapability }) } satisfies Omit<Recording, 'scenarios'>)

const about = { kind, version: version.split('.').map(Number), gpu: gpu !== undefined }
const playable = scenarios.filter((scenario) => canPlay(scenario, about))
const needsGpu = ({ needs = [] }: Scenario): boolean => needs.includes('gpu')
// a GPU may be there for minutes: first what needs one
for (const scenario of [...playable.filter(needsGpu), ...playable.filter((each) => !needsGpu(each))]) {
  // who sees a library end this process is to know where
  process.stderr.write(`${scenario.name}\n`)
  const folder = await mkdtemp(join(tmpdir(), 'trt-recording-'))
  try {
    const recorder = new Recorder([
      [folder, '<folder>'],
      [path, '<library>'],
    ])
    await scenario.play({ ...about, recorder, folder, tensorrt: path })
    print([scenario.name, recorder.observations])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
