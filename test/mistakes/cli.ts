// Lines of trt: told with exit code 2 before anything is opened, or with 1 where a file is what is wrong.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ErrorCode, TensorRTError } from '../../lib/errors.js'
import { trt } from '../cli/rig.js'
import { colours } from '../tasks/models.js'
import { reluModel } from '../support/models.js'
import { argument, type Room } from './table.js'

/** What a line ends with, as an error: its message has the exit code. */
async function cli(line: string): Promise<void> {
  const { code, stderr } = await trt(line.split(' ').filter((word) => word !== ''))
  if (code === 0) return
  const begins = stderr.lastIndexOf('error: ')
  const text = stderr
    .slice(begins < 0 ? stderr.lastIndexOf('[E] ') : begins)
    .replace(/^(error:|\[E\]) /, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const [, message = text, named] = /^(.*?) \((ERR_TRT_\w+)\)/.exec(text) ?? []
  throw new TensorRTError((named ?? argument) as ErrorCode, `${message} (exit ${code})`)
}

const lines: Room = ({ folder }) => {
  const model = join(folder, 'relu.onnx')
  writeFileSync(model, reluModel())
  const pictures = join(folder, 'colours.onnx')
  writeFileSync(pictures, colours())
  const file = join(folder, 'a.jpg')
  writeFileSync(file, 'no picture')
  const out = join(folder, 'out')
  const usage = '(exit 2)'
  return [
    [() => cli('rum model.onnx'), argument, ["'rum'", 'run', usage]],
    [() => cli('--model model.onnx'), argument, ['--model', usage]],
    [() => cli('run'), argument, ['model', usage]],
    [() => cli(`run nope.onnx --random`), 'ERR_TRT_FILE', ['nope.onnx', 'no such file']],
    [() => cli(`run ${model}`), argument, ['--random', usage]],
    [() => cli(`run ${model} --ranom`), argument, ['--ranom', '--random', usage]],
    [() => cli(`run ${model} --random --device cuda`), argument, ['--device', 'cuda', usage]],
    [() => cli(`run ${model} --random --backend gpu`), argument, ['--backend', 'gpu', 'tensorrt', usage]],
    [() => cli(`run ${model} --random --threads 0`), argument, ['--threads', usage]],
    [() => cli(`run ${model} --random --shapes x=1x4`), argument, ['x=1x4', usage]],
    [() => cli(`run ${model} --random --shapes 1x4`), argument, ['1x4', usage]],
    [() => cli(`run ${model} --random --seed abc`), argument, ['--seed', 'abc', usage]],
    [() => cli(`run ${model} --input x`), argument, ['NAME=FILE', usage]],
    [() => cli(`run ${model} --input x=nope.npy`), 'ERR_TRT_FILE', ['nope.npy']],
    [() => cli(`run ${model} nope.npy`), 'ERR_TRT_FILE', ['nope.npy']],
    [() => cli(`run ${pictures} ${file} --preset imagenet --backend cpu`), 'ERR_TRT_IMAGE', ['a.jpg']],
    [() => cli(`run ${pictures} ${file} --preset imagnet`), argument, ['imagenet', usage]],
    [() => cli(`run ${pictures} ${file} --preset yolov8 --top 5`), argument, ['--top', usage]],
    [() => cli(`run ${pictures} ${file} --preset imagenet --task detects`), argument, ['detects', 'detect', usage]],
    [() => cli(`run ${pictures} ${file} --preset imagenet --threshold 2x`), argument, ['--threshold', '2x', usage]],
    [() => cli(`run ${pictures} ${file} --preset imagenet --size 640,480`), argument, ['--size', '640,480', usage]],
    [() => cli(`run ${pictures} ${file} --preset imagenet --batch 0`), argument, ['--batch', usage]],
    [() => cli(`run ${pictures} ${file} --preset imagenet --labels nope.txt`), 'ERR_TRT_FILE', ['nope.txt']],
    [() => cli(`run ${pictures} ${file} --fp16`), argument, ['--fp16', usage]],
    [() => cli(`run ${pictures} ${file} --conf 0.5`), argument, ['--conf', usage]],
    [() => cli('build -o x.plan'), argument, ['model', usage]],
    [() => cli(`build ${model}`), argument, ['--output', usage]],
    [() => cli(`build nope.onnx -o ${out}`), 'ERR_TRT_FILE', ['nope.onnx']],
    [() => cli(`build ${model} -o ${out} --fp61`), argument, ['--fp61', usage, 'did you mean --fp16']],
    [() => cli(`build ${model} -o ${out} --precision fp16`), argument, ['--precision', usage]],
    [() => cli(`build ${model} -o ${out} --workspace lots`), argument, ['workspace', 'lots']],
    [() => cli(`build ${model} -o ${out} --optimization-level 9`), argument, ['--optimization-level', '9', usage]],
    [() => cli(`bench ${model} --duration abc`), argument, ['--duration', 'abc', usage]],
    [() => cli(`bench ${model} --duration -1`), argument, ['--duration', usage]],
    [() => cli(`bench ${model} --percentile 101`), argument, ['--percentile', '101', usage]],
    [() => cli(`bench ${model} --streams 0`), argument, ['--streams', usage]],
    [() => cli(`bench ${model} --sweep sizes=1,2`), argument, ['--sweep', 'batch', usage]],
    [() => cli(`bench ${model} --rates 5`), argument, ['--rates', '--load', usage]],
    [() => cli(`bench ${model} --batch 8`), argument, ['--batch', usage]],
    [() => cli(`compare ${model}`), argument, ['other', usage]],
    [() => cli(`compare ${model} ${model} --atol abc`), argument, ['--atol', 'abc', usage]],
    [() => cli(`compare ${model} ${model} --rtol -1`), argument, ['--rtol', usage]],
    [() => cli(`compare ${model} nope.onnx`), 'ERR_TRT_FILE', ['nope.onnx']],
    [() => cli(`convert ${model}`), argument, [usage]],
    [() => cli(`convert ${model} --fp16 --bf16 -o ${out}`), argument, ['--bf16', usage]],
    [() => cli(`convert ${model} --opset abc -o ${out}`), argument, ['--opset', 'abc', usage]],
    [() => cli(`convert ${model} --fp16 -o ${model}`), argument, ['relu.onnx', '--force']],
    [() => cli(`quantize ${pictures} -o ${out} --preset imagenet --data nope`), 'ERR_TRT_FILE', ['nope']],
    [() => cli(`quantize ${model} -o ${out} --data ${folder} --algorithm kl`), argument, ['--algorithm', 'kl', usage]],
    [() => cli('inspect'), argument, ['model', usage]],
    [() => cli('inspect nope.onnx'), 'ERR_TRT_FILE', ['nope.onnx']],
    [() => cli(`inspect ${model} --draw model.png`), argument, ['.svg', '--draw', 'model.png']],
    [() => cli(`audit ${model} --expect fp17`), argument, ['--expect', 'fp17', usage]],
    [() => cli('serve'), argument, ['--model-repository', usage]],
    [() => cli('serve --model-repository nope'), 'ERR_TRT_FILE', ['nope']],
    [() => cli(`serve --model-repository ${folder} --http-port abc`), argument, ['--http-port', 'abc', usage]],
    [() => cli('cache ls'), argument, ['ls', usage]],
    [() => cli('doctor --require cuda'), argument, ['cuda', 'gpu', usage]],
    [() => cli('completion powershell'), argument, ['powershell', 'bash', usage]],
    [() => cli('video'), argument, ['video', usage]],
    [() => cli(`video in.mp4 --model ${pictures} --task hide`), argument, ['hide', 'blur', usage]],
    [() => cli('exec --onnx'), argument, ['--onnx']],
    [() => cli('exec --fp16'), argument, ['--onnx']],
    [() => cli(`exec --onnx=${model} --nope`), argument, ['--nope']],
  ]
}

export const cliRooms: readonly Room[] = [lines]
