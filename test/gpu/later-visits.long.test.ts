// The checks of the second and third visit on the fakes: the programs themselves are right.
import t from 'tap'
import { temporaryFolder } from '../support/folders.js'
import { readLines } from './check.js'
import { laterVisits } from './fails-on-fakes.js'
import { failures, runOnFakes, writeReferences } from './on-fakes.js'
import { programs } from './programs.js'

const [references, out] = [temporaryFolder(t), temporaryFolder(t)]
await writeReferences(references)
for (const visit of ['2', '3']) await runOnFakes(references, out, '--visit', visit)
t.same(failures(out), laterVisits)
t.equal(
  readLines(out).length,
  programs.filter(({ visit }) => visit > 1).flatMap(({ checks }) => Object.keys(checks)).length,
  'each declared check ran once',
)
