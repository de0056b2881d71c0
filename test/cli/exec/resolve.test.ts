// What trtexec's options come to with a library and a model, of which nothing is loaded here.
import t from 'tap'
import { measuringOf } from '../../../lib/cli/exec/measure.js'
import { parseArguments } from '../../../lib/cli/exec/parse.js'
import type { ModelFacts, Target } from '../../../lib/cli/exec/target.js'
import { type BuildOrder, resolveBuild } from '../../../lib/cli/exec/resolve.js'
import { failureOf } from '../../support/errors.js'

const trt10: Target = { name: 'TensorRT 10.15.1', kind: 'full', version: '10.15.1', computeCapability: '8.6' }
const trt11: Target = { ...trt10, name: 'TensorRT 11.4.0', version: '11.4.0' }
const rtx: Target = { name: 'TensorRT-RTX 1.7.1', kind: 'rtx', version: '1.7.1' }

const model: ModelFacts = {
  inputs: [
    { name: 'image', shape: ['N', 3, -1, -1] },
    { name: 'scale', shape: ['N', 2] },
    { name: 'fixed', shape: [4] },
  ],
  outputs: ['a', 'b'],
  quantizes: false,
}
const still: ModelFacts = { inputs: [{ name: 'x', shape: [1, 4] }], outputs: ['y'], quantizes: false }
const quantized: ModelFacts = { ...still, quantizes: true }

const resolve = (args: string, target: Target, facts: ModelFacts): BuildOrder =>
  resolveBuild(parseArguments(['--onnx=m.onnx', ...args.split(' ').filter((arg) => arg !== '')]), target, facts)

t.test('shapes: what is missing is taken from what is there, as trtexec does, with a warning', async (t) => {
  const range = (args: string): unknown =>
    resolve(args, trt10, { ...still, inputs: [{ name: 'x', shape: ['N'] }] }).shapes
  t.same(range('--minShapes=x:1'), [{ x: { min: [1], opt: [1], max: [1] } }])
  t.same(range('--optShapes=x:2'), [{ x: { min: [2], opt: [2], max: [2] } }])
  t.same(range('--maxShapes=x:3'), [{ x: { min: [3], opt: [3], max: [3] } }])
  t.same(range('--minShapes=x:1 --optShapes=x:2'), [{ x: { min: [1], opt: [2], max: [2] } }])
  t.same(range('--minShapes=x:1 --maxShapes=x:3'), [{ x: { min: [1], opt: [3], max: [3] } }])
  t.same(range('--optShapes=x:2 --maxShapes=x:3'), [{ x: { min: [2], opt: [2], max: [3] } }])
  t.same(range('--shapes=x:5'), [{ x: { min: [5], opt: [5], max: [5] } }], 'those of the inference')
  t.same(range('--shapes=x:5 --maxShapes=x:8'), [{ x: { min: [8], opt: [8], max: [8] } }])
  const { warnings } = resolve('--optShapes=*:2,image:2x3x8x8 --maxShapes=*:4,image:4x3x8x8', trt10, {
    ...model,
    inputs: model.inputs.slice(0, 1),
  })
  t.same(warnings, ['optShapes is being broadcasted to minShapes for tensor image'])
})

t.test('shapes: names', async (t) => {
  const shapes = '--minShapes=im*:1x3x8x8,scale:1x2 --maxShapes=im*:2x3x8x8,scale:2x2'
  const [profile] = resolve(shapes, trt10, model).shapes
  t.same(Object.keys(profile ?? {}), ['image', 'scale'])
  const several = resolve(`--profile=0 ${shapes} --profile=1 --optShapes=image:8x3x8x8,scale:8x2`, trt10, model)
  t.equal(several.shapes.length, 2)
  t.match(await failureOf(() => resolve(`${shapes} --optShapes=images:1x3x8x8`, trt10, model)), {
    code: 'ERR_TRT_UNKNOWN_INPUT',
    message: `Cannot find input tensor with name "images" in the network inputs, which are 'image', 'scale', 'fixed'`,
  })
  t.match(await failureOf(() => resolve('--minShapes=im*:1x3x8x8,*e:1x2', trt10, model)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /'image' is meant by several names with '\*': im\*, \*e/,
  })
  for (const args of ['', '--minShapes=scale:1x2', '--shapes=scale:1x2', '--fp16'])
    t.match(
      await failureOf(() => resolve(args, trt10, model)),
      {
        code: 'ERR_TRT_SHAPES_REQUIRED',
        message: /'image' is dynamic.*of which trtexec makes 1.*--minShapes=image:Nx3xNxN/,
      },
      `${args}: trtexec's guess is an error here`,
    )
  t.match(resolve('--minShapes=x:1x4', trt10, still), {
    shapes: [{ x: { opt: [1, 4] } }],
    warnings: [/model is static/],
  })
})

t.test('INT8 without quantizing layers and without --calib', async (t) => {
  for (const args of ['--int8', '--best', '--int8 --fp16']) {
    const { builder, warnings } = resolve(args, trt10, still)
    t.equal(builder.placeholderRanges, true, args)
    t.match(warnings, [/nobody measured.*timing only: the outputs mean nothing.*trt quantize/], args)
  }
  for (const [args, facts] of [
    ['--int8', quantized],
    ['--int8 --calib=c', still],
    ['--fp16', still],
    ['--best', quantized],
  ] as const)
    t.notOk('placeholderRanges' in resolve(args, trt10, facts).builder, args)
  for (const target of [trt11, rtx]) {
    t.match(await failureOf(() => resolve('--int8', target, still)), {
      code: 'ERR_TRT_PRECISION',
      message: `--int8: ${target.name}`,
    })
    t.match(await failureOf(() => resolve('--int8 --fp16', target, still)), { message: /trt quantize/ })
    t.same(resolve('--int8', target, quantized).builder.precision, ['int8'])
    t.match(await failureOf(() => resolve('--int8 --calib=c', target, still)), {
      code: 'ERR_TRT_UNSUPPORTED',
      message: /TensorRT 10 alone.*trt quantize/,
    })
    t.match(await failureOf(() => resolve('--best', target, quantized)), {
      code: 'ERR_TRT_UNSUPPORTED',
      message: /--best.*Take --fp16.*trt quantize/,
    })
  }
})

t.test('the other precisions', async (t) => {
  t.same(resolve('--best', trt10, still).builder.precision, ['fp16', 'int8', 'bf16'])
  t.same(resolve('--best', { ...trt10, computeCapability: '10.3' }, still).builder.precision, ['fp16', 'bf16'])
  t.same(resolve('--best', { ...trt10, computeCapability: '7.5' }, still).builder.precision, ['fp16', 'int8'])
  t.same(resolve('--fp16 --bf16', trt10, still).builder.precision, ['fp16', 'bf16'])
  t.match(resolve('--fp16', trt10, still), { notes: [], warnings: [] })
  for (const target of [trt11, rtx])
    t.match(resolve('--fp16', target, still), {
      builder: { precision: ['fp16'] },
      notes: [`--fp16: ${target.name} takes types from the model, so the model is converted to float16`],
    })
  const strong = resolve('--stronglyTyped --fp16 --int8', trt10, still)
  t.notOk('precision' in strong.builder)
  t.match(strong.warnings, [/fp16 mode is not allowed/, /int8 mode is not allowed/])
  t.match(await failureOf(() => resolve('--stronglyTyped --int8 --calib=c', trt10, still)), {
    code: 'ERR_TRT_UNSUPPORTED',
  })
})

t.test('formats and sources of kernels', async (t) => {
  const shapes = '--minShapes=image:1x3x8x8,scale:1x2'
  const all = { dtype: 'float16', formats: ['chw'] }
  t.same(resolve(`${shapes} --inputIOFormats=fp16:chw --outputIOFormats=fp16:chw,int8:chw32`, trt10, model).builder, {
    inputFormats: { image: all, scale: all, fixed: all },
    outputFormats: { a: all, b: { dtype: 'int8', formats: ['chw32'] } },
    tensorrt: { library: undefined, device: 0 },
  })
  t.match(await failureOf(() => resolve(`${shapes} --inputIOFormats=fp16:chw,fp16:chw`, trt10, model)), {
    message: /one for each of the 3 inputs \(image, scale, fixed\), for --inputIOFormats but received 2/,
  })
  const sources = (args: string): unknown => resolve(args, trt10, still).builder.tacticSources
  t.same(sources('--tacticSources=-CUDNN,+CUBLAS'), ['edgeMaskConvolutions', 'jitConvolutions', 'cublas'])
  t.same(sources('--tacticSources=-EDGE_MASK_CONVOLUTIONS,-JIT_CONVOLUTIONS'), [])
  t.same(sources(''), undefined)
})

t.test('what is measured has the defaults of the major', async (t) => {
  const measuring = (args: string, target: Target | undefined) =>
    measuringOf(parseArguments(['--loadEngine=p', ...args.split(' ').filter((arg) => arg !== '')]), target)
  const alone = { endToEnd: false, javascript: false }
  t.same(measuring('', trt10), { options: alone, warnings: [] })
  t.same(measuring('', undefined), { options: alone, warnings: [] })
  t.match(measuring('--endToEnd', trt10).options, { endToEnd: true, javascript: true })
  for (const target of [trt11, rtx]) {
    t.same(measuring('', target), {
      options: { ...alone, transfers: false, cudaGraph: true, spinWait: true },
      warnings: [],
    })
    t.match(measuring('--includeDataTransfers --noSpinWait --noCudaGraph', target), {
      options: { transfers: true, cudaGraph: false, spinWait: false },
      warnings: [],
    })
    t.match(measuring('--noDataTransfers --useSpinWait --useCudaGraph', target), {
      options: { transfers: false, cudaGraph: true, spinWait: true },
      warnings: [/--noDataTransfers has no effect/, /--useSpinWait has no effect/, /--useCudaGraph has no effect/],
    })
  }
  t.match(measuring('--noCudaGraph --includeDataTransfers', trt10).warnings, [
    /--includeDataTransfers has no effect.*TensorRT 10/,
    /--noCudaGraph/,
  ])
  t.match(measuring('--dumpProfile --exportOutput=o', trt10).options, { layers: true, outputs: true })
})
