// Mistakes of a stranger, a row each: what is said, and that nothing was begun: exit code 2, and the same as JSON.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Tensor, writeTensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { writeImage } from '../../lib/vision/index.js'
import { flagSpelling } from '../../lib/cli/spelling.js'
import { oneNode } from '../support/models.js'
import { bareTrt } from './bare.js'
import { trt } from './rig.js'

const home = t.testdir({ empty: {} })
const at = (name: string): string => join(home, name)

function twoInputs(): Uint8Array {
  const graph = new GraphBuilder({ name: 'two', opset: 13 })
  const [a, b] = ['a', 'b'].map((name) => graph.input(name, 'float32', ['n', 4]))
  graph.output(graph.node('Add', [a!, b!], {}, { output: 'sum' }), 'float32', ['n', 4])
  return writeModel(graph.toModel())
}

writeFileSync(at('relu.onnx'), oneNode('Relu', ['n', 4]))
writeFileSync(at('pictures.onnx'), oneNode('Relu', ['n', 3, 64, 64]))
writeFileSync(at('fixed.onnx'), oneNode('Relu', [1, 3, 32, 32]))
writeFileSync(at('two.onnx'), twoInputs())
writeFileSync(at('notes.txt'), 'hello')
writeFileSync(at('hi.txt'), 'hi\n')
await writeTensor(at('x.npy'), Tensor.from(new Float32Array([1, -2, 3, 4]), [1, 4]))
await writeTensor(at('bad.npy'), Tensor.from(new Float32Array([1, -2, 3]), [1, 3]))
await writeTensor(at('ints.npy'), Tensor.from(new Int32Array(4), [1, 4]))
mkdirSync(at('photos'))
const picture = { width: 8, height: 6, channels: 3, data: new Uint8Array(8 * 6 * 3).fill(90) } as const
for (const name of ['a', 'b']) await writeImage(picture, at(`photos/${name}.png`))

/** Words of a line; names of files of ours are made paths. */
const words = (line: string): string[] =>
  line.split(' ').map((word) => word.replace(/(^|=)@/, (_, before: string) => `${before}${home}/`))

const rows: readonly (readonly [line: string, message: RegExp])[] = [
  // paths: what was expected there, and what is there
  ['run @pictures.onnx @photos --preset @none.json', /Cannot read .*none\.json: there is no such file/],
  ['run @pictures.onnx @photos --preset @no/my.json', /Cannot read .*my\.json: there is no folder .*no/],
  ['run @pictures.onnx @photos --preset @x.npy/my.json', /my\.json: .*x\.npy is a file, and a folder is expected/],
  ['run @relu.onnx @x.npy -o @x.npy/out', /Cannot write .*out: .*x\.npy is a file, and a folder is expected/],
  [
    'run @relu.onnx @x.npy -o @x.npy/out/x.json',
    /Cannot write .*x\.json: .*x\.npy is a file, and a folder is expected/,
  ],
  ['run @relu.onnx @x.npy -o @x.npy/', /Cannot write .*x\.npy\/: it is a file, and a folder is expected/],
  ['run @relu.onnx @x.npy/y.npy', /Cannot read .*y\.npy: .*x\.npy is a file, and a folder is expected/],
  ['run @relu.onnx --input x=@x.npy/y.npy', /Cannot read .*y\.npy: .*x\.npy is a file, and a folder is expected/],
  ['inspect @x.npy/m.onnx', /Cannot read .*m\.onnx: .*x\.npy is a file, and a folder is expected/],
  // flags of other programs
  ['convert @relu.onnx -o @c.onnx --half', /unknown option '--half': here it is --fp16$/],
  ['run @relu.onnx --random --conf 0.4', /'--conf': here it is --threshold$/],
  ['run @relu.onnx --random --iou 0.4', /'--iou': the preset has it: output\.iouThreshold/],
  ['run @relu.onnx --source x.jpg', /'--source': pictures and files are named without a flag$/],
  ['run @relu.onnx --imgsz 640', /'--imgsz': here it is --size$/],
  ['compare @relu.onnx --weights x', /'--weights': the model is named without a flag/],
  ['bench @relu.onnx --output x', /'--output': here it is --report$/],
  ['bench @relu.onnx --batch-size 4', /'--batch-size': here it is --batch$/],
  ['build @relu.onnx -o @x.plan --saveEngine=x', /'--saveEngine=x': trt exec takes trtexec's own options$/],
  ['build @relu.onnx -o @x.plan --minShapes x:1', /'--minShapes': did you mean --min-shapes\?$/],
  ['build @relu.onnx -o @x.plan --workspac 3', /'--workspac': did you mean --workspace\?$/],
  ['convert @relu.onnx -o @c.onnx --workspace 3', /unknown option '--workspace'$/],
  ['build @relu.onnx -o @x.plan --zzz', /unknown option '--zzz'$/],
  ['cache clear --foo', /unknown option '--foo'$/],
  // before a required option that is missing because of it
  ['video --modle @relu.onnx x.mp4', /unknown option '--modle': did you mean --model\?$/],
  ['convert @relu.onnx --outputt @c.onnx', /unknown option '--outputt': did you mean --output\?$/],
  ['quantize @relu.onnx --outptu=@q.onnx', /unknown option '--outptu': did you mean --output\?$/],
  ['build @relu.onnx -x', /unknown option '-x'/],
  ['quantize @relu.onnx -q', /required option '-o, --output <FILE>' not specified$/],
  ['bench @relu.onnx --shapes x:0x4', /Expected at least one row for input 'x' but received 0x4: an empty batch/],
  ['predict @relu.onnx', /unknown command 'predict': did you mean run\?$/],
  ['@relu.onnx', /unknown command '.*relu\.onnx': a command comes first, as in trt inspect .*relu\.onnx$/],
  ['frobnicate', /unknown command 'frobnicate'$/],
  ['help frobnicate', /unknown command 'frobnicate'$/],
  ['--device 0', /'--device': a command comes before its options$/],
  // files
  ['build @relu.onnx -o /proc/x --shapes x:1x4', /Cannot write \/proc\/x: no file can be made in \/proc \(ENOENT\)/],
  ['build @none.onnx -o @x.plan', /Cannot read .*none\.onnx: there is no such file/],
  ['build @relu.onnx -o @empty --shapes x:1x4', /Cannot write .*empty: it is a folder, and the result is a file/],
  ['build @relu.onnx -o @x.plan --shapes x:1x4 --plugin /no/p.so', /Cannot read \/no\/p\.so: there is no folder \/no /],
  ['build @relu.onnx -o @x.plan --shapes x:1x4 --timing-cache /no/t', /Cannot write \/no\/t: there is no folder/],
  ['build @relu.onnx -o @x.plan --tensorrt /no', /There is no file or folder \/no for --tensorrt/],
  ['inspect @empty', /Expected a file but .*empty is a folder/],
  ['audit @none.onnx', /none\.onnx: there is no such file/],
  ['compare @relu.onnx @none.onnx', /none\.onnx: there is no such file/],
  ['run @none.onnx @none.npy', /none\.onnx: there is no such file/],
  ['run @relu.onnx --input x=@none.npy', /none\.npy: there is no such file/],
  ['run @pictures.onnx @photos --preset imagenet --labels coco81', /--labels takes .*coco80.*there is no file coco81/],
  ['cache list --folder @relu.onnx', /relu\.onnx: it is a file, and a folder is expected/],
  // values
  ['build @relu.onnx -o @x.plan --workspace lots', /"2GiB", for --workspace but received string "lots"/],
  ['build @relu.onnx -o @x.plan --compute-capability abc', /for --compute-capability but received string "abc"/],
  ['inspect @relu.onnx --draw x.png', /--draw takes a name that ends in \.svg or \.dot, not x\.png/],
  ['inspect @relu.onnx --around x', /--around is of --draw/],
  ['quantize @relu.onnx -o @q.onnx --data @x.npy --percentile 9', /--percentile is of --algorithm percentile/],
  ['convert @relu.onnx -o @c.onnx --opset 99', /opset 22 at most/],
  ['run @pictures.onnx @photos --preset imagenet --task detect', /--task detect needs a preset of that task: imagenet/],
  ['bench @relu.onnx --backend cpu --shapes x:1x4 --spin-wait', /--spin-wait is of TensorRT/],
  // shapes and names of the model
  ['build @relu.onnx -o @x.plan', /"x" open \(nx4\): give --shapes x:1x4, or a range/],
  ['audit @relu.onnx --expect fp16', /"x" open \(nx4\): give --shapes x:1x4/],
  ['build @relu.onnx -o @x.plan --shapes y:1x4', /no input "y" for --shapes: it has "x"/],
  ['build @relu.onnx -o @x.plan --shapes x:1x5', /--shapes x:1x5 does not fit the model, whose x is nx4/],
  [
    'run @fixed.onnx @photos --preset centerface --shapes x:1x3x480x640',
    /whose x is 1x3x32x32\. To fix: give --size 640x480 instead, for which the task/,
  ],
  [
    'run @fixed.onnx @photos --preset centerface --task tensors --shapes x:1x3x480x640',
    /To fix: give --size 640x480 instead/,
  ],
  [
    'build @fixed.onnx -o @x.plan --shapes x:1x3x480x640',
    /whose x is 1x3x32x32\. To fix: make its sizes dynamic with trt convert --open-sizes /,
  ],
  ['build @relu.onnx -o @x.plan --shapes x:-1x4', /--shapes x:-1x4 has a size below 0/],
  [
    'build @relu.onnx -o @x.plan --min-shapes x:4x4 --opt-shapes x:2x4 --max-shapes x:8x4',
    /of "x" do not rise in each size: 4x4, 2x4, 8x4/,
  ],
  ['run @relu.onnx --input y=@x.npy', /no input "y" for --input: it has "x"/],
  ['run @relu.onnx --input x=@bad.npy', /Expected shape \[-1, 4\].* but found \[1, 3\]/],
  ['run @relu.onnx @ints.npy', /Expected float32.* but found int32/],
  ['run @two.onnx @x.npy', /is one tensor, and the model has the inputs a, b/],
  ['compare @relu.onnx @two.onnx --data @x.npy', /relu\.onnx has the inputs x, and .*two\.onnx a, b/],
  ['compare @relu.onnx @relu.onnx --shapes x:1x4 --rtol z:1', /no output "z" for --rtol: it has the-node/],
  ['run @two.onnx --random --input a=@x.npy --shapes b:1x4', /"a" open \(nx4\): give --shapes a:1x4/],
  // data, alike in all four
  ...['bench @relu.onnx', 'compare @relu.onnx @relu.onnx', 'quantize @relu.onnx -o @q.onnx'].flatMap(
    (line): [string, RegExp][] => [
      [`${line} --preset imagenet`, /--preset is of --data, which was not given/],
      [`${line} --data @none.npy`, /none\.npy: there is no such file/],
      [`${line} --data @photos/a.png`, /a\.png is a picture: --preset says how.*\nclassify +imagenet/],
      [`${line} --data @photos`, /a\.png is a picture: --preset says how/],
      [`${line} --data @photos --preset imagnet`, /did you mean 'imagenet'.*for --preset/],
      [`${line} --data @photos --preset imagenet`, /one input of pictures for --data but it has "x"/],
      [`${line} --data @notes.txt`, /neither a picture nor a file of tensors/],
      [`${line} --data @x.npy @photos/a.png`, /pictures or tensors, and received both/],
      [`${line} --data @x.npy --size 64`, /--size is of pictures, and --data has tensors/],
      [`${line} --data @bad.npy`, /Expected shape \[-1, 4\].* but found \[1, 3\]/],
      [`${line} --data @empty`, /empty.*it has none|neither a picture/],
      [`${line} --data - --input x=-`, /- is stdin, which can be read once/],
      [`${line} --data -`, /Cannot read -: stdin gave nothing/],
      [`${line} --input x`, /--input takes NAME=FILE/],
      [`${line} --input y=@x.npy`, /no input "y" for --input: it has "x"/],
    ],
  ),
  ['quantize @relu.onnx -o @q.onnx', /--data is needed/],
  ['quantize @pictures.onnx -o @q.onnx --preset imagenet --data @notes.txt', /it is text that begins with "hello"/],
  ['quantize @pictures.onnx -o @q.onnx --preset imagenet --data @hi.txt', /it is text that begins with "hi"/],
  ['compare @two.onnx @two.onnx --input a=@x.npy', /Nothing gives the model's input "b": --input b=FILE does/],
  ['bench @relu.onnx --data @x.npy --shapes x:2x4', /Expected \[2, 4\] for input "x".* but the data has \[1, 4\]/],
  ['bench @relu.onnx --load --data @x.npy', /--data is of a closed loop/],
  ['bench @relu.onnx --sweep batch=1,2 --data @x.npy', /--data is of one benchmark/],
]

t.test('messages of the API name the flags of the command, and only those that it has', (t) => {
  const spell = flagSpelling(['--activation', '--threshold', '--backend', '--max-side', '--size', '--min-shapes'])
  const messages: [said: string, spelled: string][] = [
    ["wrong; output: { activation: 'none' } takes them", 'wrong; --activation none takes them'],
    ["run it with { backend: 'cpu' }", 'run it with --backend cpu'],
    ["on the CPU (backend: 'cpu'), or", 'on the CPU (--backend cpu), or'],
    ['give it as input: { size }, or', 'give it as --size, or'],
    ['Expected 1 to 9 for input.maxSide but received 0', 'Expected 1 to 9 for --max-side but received 0'],
    ['Expected 0 to 1 for scoreThreshold but received 5', 'Expected 0 to 1 for --threshold but received 5'],
    ['Leave out the option backend', 'Leave out --backend'],
    [
      'add shapes: { "a": { min: [1, 3], opt: [1, 3], max: [8, 3] }, "b": { min: [1], opt: [1], max: [8] } }',
      'add --min-shapes a:1x3,b:1 --opt-shapes a:1x3,b:1 --max-shapes a:8x3,b:8',
    ],
    ["set tensorrt: { builder: { backend: 'cpu' } } for it", 'set --backend cpu for it'],
    // what has no flag here stays
    [
      "tensorrt: { builder: { precision: 'fp16' } } is its place",
      "tensorrt: { builder: { precision: 'fp16' } } is its place",
    ],
    ['cpu: { threads: 2 }, lanes: 4', 'cpu: { threads: 2 }, lanes: 4'],
    ["a record: { backend: 'cpu', lanes: 2 }", "a record: { backend: 'cpu', lanes: 2 }"],
    ['an object for output but received 3', 'an object for output but received 3'],
    ['an object for preset.size but received 3', 'an object for preset.size but received 3'],
  ]
  for (const [said, spelled] of messages) t.equal(spell(said), spelled)
  t.end()
})

t.test('what is wrong is told in the words of the line, before anything is begun', async (t) => {
  const before = readdirSync(home)
  for (const [line, message] of rows) {
    const { code, stdout, stderr } = await trt([...words(line), '--json'])
    t.equal(code, 2, line)
    t.match(stderr.replace(/\n\(trt.*--help says what there is\)\n$/, '').trimEnd(), message, line)
    t.match(stderr, /^error: /, line)
    const { error } = JSON.parse(stdout) as { readonly error: { readonly code: string; readonly message: string } }
    t.match(error, { code: /^ERR_TRT_/, message: /./ }, line)
    t.ok(stderr.includes(error.message), `${line}: the same as JSON`)
  }
  t.same(readdirSync(home), before, 'and nothing is left')
})

t.test('data for bench, compare and quantize: pictures, tensors, named tensors, stdin', async (t) => {
  const brief = ['--backend', 'cpu', '--warm-up', '0', '--duration', '0', '--iterations', '2', '--json', '-q']
  const bench = async (line: string, stdin?: Uint8Array) => {
    const ran = await trt([...words(`bench ${line}`), ...brief], undefined, stdin)
    t.equal(ran.code, 0, ran.stderr)
    return JSON.parse(ran.stdout) as { settings: { shapes: object }; data: object }
  }
  t.match(await bench('@relu.onnx --data @x.npy'), {
    settings: { shapes: { x: [1, 4] } },
    data: { files: [at('x.npy')], inputs: ['x'] },
  })
  t.match(await bench('@pictures.onnx --data @photos --preset imagenet --batch 2'), {
    settings: { shapes: { x: [2, 3, 64, 64] } },
    data: { files: { length: 2 }, preset: 'imagenet' },
  })
  t.match(await bench('@two.onnx --input a=@x.npy --shapes b:1x4'), { data: { inputs: ['a'] } })
  const json = Buffer.from(JSON.stringify({ x: [[1, 2, 3, 4]] }))
  t.match(await bench('@relu.onnx --data -', json), { data: { files: ['-'] } })
  const told = await trt([...words('bench @pictures.onnx --data @photos --preset imagenet'), ...brief.slice(0, -2)])
  t.match(told, { code: 0, stdout: /data +a\.png, by the preset imagenet/, stderr: /the first 1 of 2 files of --data/ })
  for (const line of [
    'compare @relu.onnx @relu.onnx --backend cpu --data @x.npy @x.npy',
    'compare @two.onnx @two.onnx --backend cpu --input a=@x.npy --input b=@x.npy',
    'compare @two.onnx @two.onnx --backend cpu --data @x.npy --input b=@x.npy',
    'compare @relu.onnx @relu.onnx --backend cpu --data -',
    'compare @relu.onnx @relu.onnx --backend cpu --input x=-',
  ])
    t.match(await trt(words(line), undefined, json), { code: 0, stdout: /1\.000000/ }, line)
  t.match(await trt(words('quantize @relu.onnx -o @q.onnx --data -'), undefined, json), {
    stderr: /Nothing of the model can be/,
  })
})

t.test('a warning of the process names the flags of the command', async (t) => {
  const { stderr } = await bareTrt(['run', at('relu.onnx'), at('x.npy')], {})
  t.match(
    stderr,
    /^warning: The engine runs on the CPU .* needs shapes for 'x'\. To fix: add --min-shapes x:1x4 --opt-shapes x:1x4 --max-shapes x:8x4$/m,
  )
})
