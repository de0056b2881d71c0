// Ensembles with one fault each: each is refused for that one, with the step and the tensor.
import t from 'tap'
import { failureOf } from '../../support/errors.js'
import { repository, write } from '../models/folders.js'
import { faked } from './fake-steps.js'
import { ensemble, type EnsembleText, ensembleText } from './rig.js'

const model = (name: string, inputs: readonly string[], outputs: readonly string[], maxBatch = 8) => ({
  [`${name}/1/model.onnx`]: 'no model, since nothing opens it',
  [`${name}/config.pbtxt`]: ensembleText({ inputs, outputs, steps: [], maxBatch })
    .replace('platform: "ensemble"', 'backend: "onnxruntime"')
    .replace(/ensemble_scheduling[^]*$/, ''),
})

const models = {
  ...model('pass', ['x FP32 [3]'], ['y FP32 [3]']),
  ...model('two', ['a FP32 [3]', 'b FP32 [3]'], ['sum FP32 [3]', 'rest FP32 [3]']),
  ...model('ints', ['x INT32 [3]'], ['y INT32 [3]']),
  ...model('texts', ['x STRING [1]'], ['y STRING [1]']),
  ...model('four', ['x FP32 [4]'], ['y FP32 [4]']),
  ...model('any', ['x FP32 [-1]'], ['y FP32 [-1]']),
  ...model('square', ['x FP32 [3,3]'], ['y FP32 [3,3]']),
  ...model('single', ['x FP32 [3]'], ['y FP32 [3]'], 0),
  ...model('rows', ['x FP32 [-1,3]'], ['y FP32 [-1,3]'], 0),
  ...model('small', ['x FP32 [3]'], ['y FP32 [3]'], 2),
}

const plain: EnsembleText = { inputs: ['I FP32 [3]'], outputs: ['O FP32 [3]'], steps: ['pass(x=I -> y=O)'] }
const steps = (...lines: readonly string[]): EnsembleText => ({ ...plain, steps: lines })

/** What is wrong, and what the message has to say of it. */
const faults: readonly (readonly [name: string, text: EnsembleText | string, ...says: readonly string[]])[] = [
  // form
  ['no steps', { ...plain, steps: [] }, "must specify 'step' for ensemble 'e'"],
  ['no scheduling', ensembleText(plain).replace(/ensemble_scheduling[^]*$/, ''), 'ensemble scheduling must be set for ensemble e whose platform is ensemble'],
  ['another platform', ensembleText(plain).replace('"ensemble"', '"onnxruntime_onnx"'), "ensemble scheduling cannot be set for model 'e' whose platform is not ensemble"],
  ['a backend of its own', { ...plain, more: 'backend: "ensemble"' }, "Ensemble model 'e' must have platform type 'ensemble' and empty backend type"],
  ['instance_group', { ...plain, more: 'instance_group { count: 2 }' }, "instance group should not be specified for ensemble 'e'"],
  ['optimization', { ...plain, more: 'optimization { priority: PRIORITY_MAX }' }, "optimization should not be specified for ensemble 'e'"],
  ['model_warmup', { ...plain, more: 'model_warmup { name: "w" batch_size: 1 }' }, "model_warmup can not be specified for ensemble 'e'"],
  ['no inputs', { ...plain, inputs: [] }, "must specify 'input' for ensemble 'e'"],
  ['no outputs', { ...plain, outputs: [] }, "must specify 'output' for ensemble 'e'"],
  ['an input twice', { ...plain, inputs: ['I FP32 [3]', 'I FP32 [3]'] }, "input 'I' of ensemble 'e' is specified twice"],
  ['an input without a type', ensembleText(plain).replace('data_type: TYPE_FP32', ''), "model input 'I' must specify 'data_type' for e"],
  ['an output without dims', ensembleText({ ...plain, outputs: ['O FP32 []'] }), "model output 'O' must specify 'dims' for e"],
  ['no model_name', ensembleText(plain).replace('model_name: "pass"', ''), "must specify 'model_name' in step 0 of ensemble 'e'"],
  ['no input_map', steps('pass( -> y=O)'), "must specify 'input_map' in step 0 of ensemble 'e' (model 'pass')"],
  ['no output_map', steps('pass(x=I -> y=O)', 'pass(x=O -> )'), "must specify 'output_map' in step 1 of ensemble 'e' (model 'pass')"],
  ['a namespace', ensembleText(plain).replace('model_name:', 'model_namespace: "n" model_name:'), "model_namespace of model 'e' is not served"],
  ['itself', steps('e(x=I -> y=O)'), 'circular dependency between ensembles: e -> e', 'step 0'],
  // what goes from one to the other
  ['a step that waits for itself', steps('two(a=I, b=m -> sum=O, rest=m)'), "output 'O' for ensemble 'e' is not written", "'m', is not connected", "step 0 (model 'two') waits for itself"],
  ['a circle of two', steps('two(a=I, b=n -> sum=m)', 'two(a=I, b=m -> sum=n, rest=O)'), "output 'O' for ensemble 'e' is not written", "step 0 (model 'two'), step 1 (model 'two') wait for each other"],
  ['a circle of three that no output needs', steps('pass(x=I -> y=O)', 'pass(x=c -> y=a)', 'pass(x=a -> y=b)', 'pass(x=b -> y=c)'), "is unused in ensemble 'e'", "step 1 (model 'pass'), step 2 (model 'pass'), step 3 (model 'pass') wait for each other"],
  ['a tensor that nobody gives', steps('two(a=I, b=m -> sum=O)'), "output 'O' for ensemble 'e' is not written: at least one of its depending tensors, 'm', is not connected", "nothing gives it to input 'b' of step 0 (model 'two')"],
  ['one that nobody gives, and no output needs', steps('pass(x=I -> y=O)', 'pass(x=m -> y=n)'), "ensemble tensor 'm' is unused in ensemble 'e'", "input 'x' of step 1 (model 'pass')"],
  ['a tensor that two steps give', steps('pass(x=I -> y=O)', 'any(x=I -> y=O)'), "ensemble tensor 'O' can appear in an output map only once for ensemble 'e' step 1", "step 0 (model 'pass')"],
  ['a tensor that one step gives twice', steps('two(a=I, b=I -> sum=O, rest=O)'), "ensemble tensor 'O' can appear in an output map only once for ensemble 'e' step 0"],
  ['an input that a step gives, too', steps('pass(x=I -> y=O)', 'pass(x=O -> y=I)'), "ensemble tensor 'I' is an input of ensemble 'e'", "step 1 (model 'pass')"],
  ['an input that no step uses', { ...plain, inputs: ['I FP32 [3]', 'J FP32 [3]'] }, "ensemble input 'J' for ensemble e' is not used"],
  ['an output that no step gives', { ...plain, outputs: ['O FP32 [3]', 'P FP32 [3]'] }, "ensemble output 'P' for ensemble e' is not used"],
  ['a tensor that nothing takes', steps('two(a=I, b=I -> sum=O, rest=m)'), "ensemble tensor 'm' is unused in ensemble 'e'", "output 'rest' of step 0 (model 'two')"],
  // against the models
  ['a model that is not there', steps('pass(x=I -> y=m)', 'nobody(x=m -> y=O)'), 'ensemble e contains models that are not available or ambiguous: nobody', "step 1 (model 'nobody')"],
  ['a model that does not load', steps('broken(x=I -> y=O)'), "ensemble 'e' depends on 'broken' which has no loaded version. Model 'broken' loading failed with error", 'broken is broken', 'step 0'],
  ['a version that is not there', steps('pass:7(x=I -> y=O)'), "ensemble 'e' depends on 'pass' whose required version 7 is not loaded", 'step 0'],
  ['no version', ensembleText(plain).replace('model_version: -1', ''), "'pass' whose required version 0 is not loaded (which is what no model_version means): -1 is the latest one"],
  ['an input that the model has not', steps('pass(z=I -> y=O)'), 'in ensemble e, ensemble tensor I is mapping to non-existing input z in model pass', 'step 0'],
  ['an output that the model has not', steps('pass(x=I -> z=O)'), 'in ensemble e, ensemble tensor O is mapped from non-existing output z in model pass', 'step 0'],
  ['an input that is not mapped', steps('two(a=I -> sum=O)'), 'in ensemble e, input b in model two is not mapped to any ensemble tensors', 'step 0'],
  ['a type of an input', { ...plain, inputs: ['I INT32 [3]'] }, 'in ensemble e, ensemble tensor I: inconsistent data type: TYPE_INT32 is inferred from model e while TYPE_FP32 is inferred from model pass', "input 'x' of step 0"],
  ['a type of an output', { ...plain, outputs: ['O FP16 [3]'] }, 'ensemble tensor O: inconsistent data type: TYPE_FP16 is inferred from model e while TYPE_FP32 is inferred from model pass'],
  ['a type between steps', { ...plain, outputs: ['O INT32 [3]'], steps: ['pass(x=I -> y=m)', 'ints(x=m -> y=O)'] }, 'ensemble tensor m: inconsistent data type: TYPE_FP32 is inferred from model pass while TYPE_INT32 is inferred from model ints', "output 'y' of step 0 (model 'pass') and input 'x' of step 1 (model 'ints')"],
  ['numbers where texts are taken', { ...plain, outputs: ['O STRING [1]'], steps: ['pass(x=I -> y=m)', 'texts(x=m -> y=O)'] }, 'TYPE_FP32 is inferred from model pass while TYPE_STRING is inferred from model texts'],
  ['a shape of an input', { ...plain, inputs: ['I FP32 [5]'] }, 'ensemble tensor I: inconsistent shape: [-1,5] is inferred from model e while [-1,3] is inferred from model pass'],
  ['a shape of an output', { ...plain, outputs: ['O FP32 [5]'] }, 'ensemble tensor O: inconsistent shape: [-1,5] is inferred from model e while [-1,3] is inferred from model pass'],
  ['a shape between steps', { ...plain, outputs: ['O FP32 [4]'], steps: ['pass(x=I -> y=m)', 'four(x=m -> y=O)'] }, 'ensemble tensor m: inconsistent shape: [-1,3] is inferred from model pass while [-1,4] is inferred from model four', "input 'x' of step 1 (model 'four')"],
  ['two that take different sizes of one', { ...plain, inputs: ['I FP32 [-1]'], outputs: ['O FP32 [3]', 'P FP32 [4]'], steps: ['any(x=I -> y=m)', 'pass(x=m -> y=O)', 'four(x=m -> y=P)'] }, 'ensemble tensor m: inconsistent shape: [-1,3] is inferred from model pass while [-1,4] is inferred from model four'],
  ['a number of dimensions', { ...plain, outputs: ['O FP32 [3,3]'], steps: ['pass(x=I -> y=m)', 'square(x=m -> y=O)'] }, 'ensemble tensor m: inconsistent shape: [-1,3] is inferred from model pass while [-1,3,3] is inferred from model square'],
  ['rows before a model that has none', { ...plain, outputs: ['O FP32 [4]'], steps: ['single(x=I -> y=m)', 'four(x=m -> y=O)'] }, 'ensemble tensor m: inconsistent shape: [3] is inferred from model single while [-1,4] is inferred from model four'],
  ['rows that a model without batches has otherwise', { ...plain, inputs: ['I FP32 [4]'], steps: ['rows(x=I -> y=O)'] }, 'ensemble tensor I: inconsistent shape: [-1,4] is inferred from model e while [-1,3] is inferred from model rows'],
  ['more rows than a step takes', steps('pass(x=I -> y=m)', 'small(x=m -> y=O)'), 'ensemble e allows maximum batch size 4, but it contains model small which only allows maximum batch size to be 2', 'step 1'],
] // prettier-ignore

await t.test(`${faults.length} faults`, async (t) => {
  t.ok(faults.length >= 40)
  const folder = repository(t, {
    ...models,
    ...model('broken', ['x FP32 [3]'], ['y FP32 [3]']),
    ...ensemble('e', plain),
  })
  const { models: served, world } = await faked(folder)
  world.broken.add('broken')
  for (const [name, text, ...says] of faults) {
    const config = typeof text === 'string' ? text : ensembleText(text)
    const { message, ...error } = await failureOf(() => loadText(served, config))
    for (const each of says) t.ok(message.includes(each), `${name}: ${message}`)
    t.match(error, { kind: /INVALID_ARG|UNSUPPORTED/ }, name)
    t.notMatch(message, /[;:.,]\s*: /, name)
  }
  t.same(
    served.index(true).filter(({ name }) => name === 'e'),
    [],
  )
  await served.load('e')
  t.equal(served.snapshot.find('e').version, '1', 'without a fault it loads')
  await served.close()
  t.same(world.open, [])

  async function loadText(to: typeof served, config: string): Promise<void> {
    write(folder, { 'e/config.pbtxt': config })
    try {
      await to.load('e')
    } finally {
      write(folder, { 'e/config.pbtxt': ensembleText(plain) })
    }
  }
})
