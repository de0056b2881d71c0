// The recording of TensorRT-RTX without a GPU, held against the library itself, so that it cannot go stale. Those of a
// GPU: test/gpu/recordings.ts.
import t from 'tap'
import { capabilities } from '../../lib/index.js'
import { rtxPath, skipWithoutRtx } from '../support/tensorrt.js'
import { differences, lineOf } from './compare.js'
import { nameOf, play, readRecording } from './files.js'

/** Why it is not played; no driver is kept from the real library, nor given to it. */
async function reasonToSkip(): Promise<string | false> {
  if (skipWithoutRtx !== false) return skipWithoutRtx
  return (await capabilities()).gpus.length > 0 ? 'there is a GPU: npm run test:gpu -- recordings' : false
}

await t.test('TensorRT-RTX does what is recorded', { skip: await reasonToSkip() }, async (t) => {
  const { recording, failure } = await play(rtxPath ?? '')
  t.equal(failure, undefined, 'it came to the end')
  const recorded = await readRecording(nameOf(recording))
  if (recorded === undefined) return t.fail(`${nameOf(recording)} is not recorded: node scripts/record.mjs`)
  for (const difference of differences('library', recorded, recording))
    t.fail(`${lineOf(difference)}; where that is right: node scripts/record.mjs --replace`)
  t.same(Object.keys(recorded.scenarios), Object.keys(recording.scenarios), 'all scenarios are recorded')
})
