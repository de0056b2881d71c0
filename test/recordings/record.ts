// What scripts/record.mjs runs: records the TensorRT at $TENSORRT_PATH on this machine; one that is recorded already is
// compared, or replaced with --replace.
import { differences, lineOf } from './compare.js'
import { nameOf, play, readRecording, writeRecording } from './files.js'

const replace = process.argv.includes('--replace')
const tensorrt = process.env['TENSORRT_PATH']
if (tensorrt === undefined) throw new Error('TENSORRT_PATH is not set')
const { recording: now, failure } = await play(tensorrt)
if (failure !== undefined) console.log(failure)
if (now.kind !== 'rtx' && now.gpu === undefined)
  throw new Error('there is no GPU, and without one TensorRT-RTX alone does anything')
const before = await readRecording(nameOf(now))
const found = before ? differences('library', before, now) : []
for (const difference of found) console.log(lineOf(difference))
if (before === undefined || replace) console.log(await writeRecording(now))
else console.log(`${nameOf(now)} is recorded already, ${found.length === 0 ? 'as it is now' : 'and is not as it was'}`)
process.exitCode = failure !== undefined || (found.length > 0 && !replace) ? 1 : 0
