// The checks of the second and third visit on the fakes: the programs themselves are right.
import t from 'tap'
import { temporaryFolder } from '../support/folders.js'
import { readLines } from './check.js'
import { failures, runOnFakes, writeReferences } from './on-fakes.js'
import { programs } from './programs.js'

const noTool = 'Error: spawn nvidia-smi ENOENT'

/** Checks that fail on the fakes: no tool of NVIDIA knows them, and they have neither plugins nor lean runtimes. */
const known: Readonly<Record<string, string>> = {
  'memory: accounts for inputs and outputs': noTool,
  'memory: accounts for captured CUDA graphs': noTool,
  'server: holds no more memory after 60 reloads than after 10': noTool,
  'portability: rejects a lean runtime inside a plan by default': '"the bits of onnxruntime"',
  'efficient-nms: keeps the boxes that onnxruntime keeps': 'ERR_TRT_UNSUPPORTED_OPERATOR',
}

const [references, out] = [temporaryFolder(t), temporaryFolder(t)]
await writeReferences(references)
for (const visit of ['2', '3']) await runOnFakes(references, out, '--visit', visit)
t.same(failures(out), known)
t.equal(
  readLines(out).length,
  programs.filter(({ visit }) => visit > 1).flatMap(({ checks }) => Object.keys(checks)).length,
  'each declared check ran once',
)
