// Needs a GPU: npm run test:gpu. What each TensorRT that is here does is held against its recording in test/recordings;
// one that has none is recorded, and replayed against the fakes from then on.
import t from 'tap'
import { capabilities } from '../../lib/index.js'
import { differences, lineOf } from '../recordings/compare.js'
import { nameOf, play, readRecording, writeRecording } from '../recordings/files.js'

const { gpus, tensorrt } = await capabilities()
t.ok(gpus.length > 0, 'there is a GPU')
const libraries = tensorrt.filter(({ canBuild, canRun }) => canBuild && canRun)
t.ok(libraries.length > 0, 'there is a TensorRT that builds and runs')

for (const { path, kind, version } of libraries) {
  await t.test(`${kind} ${version}`, async (t) => {
    const { recording, failure } = await play(path)
    const before = await readRecording(nameOf(recording))
    if (before === undefined) t.comment(`recorded: ${await writeRecording(recording)}`)
    t.equal(failure, undefined, 'it came to the end; what it did until then is recorded')
    for (const difference of before ? differences('library', before, recording) : []) t.fail(lineOf(difference))
  })
}
