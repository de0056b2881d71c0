// The two lines as people type them: on the fake of TensorRT 10, with trtexec's own durations.
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { useFakes } from '../../native/fakes.js'
import { reluModel } from '../../support/models.js'
import { trt } from '../rig.js'
import { lines } from './lines.js'

const { fakes } = await useFakes()
process.env['TENSORRT_PATH'] = fakes.trt10
process.chdir(t.testdir({}))
writeFileSync('model.onnx', reluModel(['N', 3, 512, 512], 'input'))
writeFileSync('resnet50.onnx', reluModel(['N', 3, 224, 224], 'input'))

for (const line of Object.values(lines)) {
  t.test(line, async (t) => {
    const { code, stdout, stderr } = await trt(['exec', ...line.split(' ')])
    t.equal(code, 0, stderr)
    t.match(stdout, /\[I\] Throughput: [\d.]+ qps\n/)
    t.ok(stdout.endsWith(`&&&& PASSED TensorRT.trtexec # trt exec ${line}\n`))
  })
}
