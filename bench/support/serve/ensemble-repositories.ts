/**
 * The same ensemble twice: a JPEG, its tensor, a model that gives it back, the place of the greatest value; in
 * JavaScript for ours, in Python for a real Triton.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identityPlan } from '../../../test/fake/plan.js'
import { temporaryFolder } from './folder.js'

export const side = 224
const values = 3 * side * side
const [mean, std] = ['[0.485, 0.456, 0.406]', '[0.229, 0.224, 0.225]']

const preprocess = `
import { defineModel } from 'node-tensorrt/serve'
import { stretch, toTensor } from 'node-tensorrt/vision'

async function prepare(request) {
  const into = request.output('tensor', [1, 3, ${side}, ${side}])
  const options = { filter: 'triangle', round: true, range: '0-1', mean: ${mean}, std: ${std}, into }
  return { tensor: await toTensor(request.inputs.jpeg.data, (size) => stretch(size, ${side}), options) }
}

export default defineModel({ concurrency: 4, execute: (requests) => Promise.all(requests.map(prepare)) })
`

const postprocess = `
import { defineModel } from 'node-tensorrt/serve'

function label({ data }) {
  let best = 0
  for (let i = 1; i < data.length; i++) if (data[i] > data[best]) best = i
  return [String(best)]
}

export default defineModel({ execute: (requests) => requests.map(({ inputs }) => ({ label: label(inputs.scores) })) })
`

const pythonPreprocess = `
import io
import numpy as np
import triton_python_backend_utils as utils
from PIL import Image

MEAN = np.array(${mean}, np.float32).reshape(3, 1, 1)
STD = np.array(${std}, np.float32).reshape(3, 1, 1)

class TritonPythonModel:
    def execute(self, requests):
        return [self.one(request) for request in requests]

    def one(self, request):
        jpeg = utils.get_input_tensor_by_name(request, "jpeg").as_numpy()
        picture = Image.open(io.BytesIO(jpeg.tobytes())).convert("RGB").resize((${side}, ${side}), Image.BILINEAR)
        tensor = (np.asarray(picture, np.float32).transpose(2, 0, 1) / 255 - MEAN) / STD
        return utils.InferenceResponse([utils.Tensor("tensor", np.ascontiguousarray(tensor, np.float32).reshape(-1))])
`

const pythonPostprocess = `
import numpy as np
import triton_python_backend_utils as utils

class TritonPythonModel:
    def execute(self, requests):
        scores = [utils.get_input_tensor_by_name(request, "scores").as_numpy() for request in requests]
        return [utils.InferenceResponse([utils.Tensor("label", np.array([str(one.argmax())], dtype=object))]) for one in scores]
`

function tensor(name: string, type: string, ...dims: readonly number[]): string {
  return `[ { name: "${name}" data_type: TYPE_${type} dims: [ ${dims.join(', ')} ] } ]`
}

interface Model {
  readonly config: string
  readonly file?: string
  readonly content?: string | Uint8Array
}

function put(folder: string, models: Readonly<Record<string, Model>>): string {
  for (const [name, { config, file, content = '' }] of Object.entries(models)) {
    mkdirSync(join(folder, name, '1'), { recursive: true })
    writeFileSync(join(folder, name, 'config.pbtxt'), `${config}\n`)
    if (file !== undefined) writeFileSync(join(folder, name, '1', file), content)
  }
  return folder
}

/** The instances of each step but the model, on both sides. */
const instances = 'instance_group [ { kind: KIND_CPU count: 2 } ]'

function ensemble(model: string, [input, output]: readonly [string, string], rows: number): Model {
  const step = (name: string, inputs: readonly [string, string], outputs: readonly [string, string]): string =>
    `{ model_name: "${name}" model_version: -1 input_map { key: "${inputs[0]}" value: "${inputs[1]}" } output_map { key: "${outputs[0]}" value: "${outputs[1]}" } }`
  const steps = [
    step('preprocess', ['jpeg', 'jpeg'], ['tensor', 'pixels']),
    step(model, [input, 'pixels'], [output, 'values']),
    step('postprocess', ['scores', 'values'], ['label', 'label']),
  ]
  return {
    config: `platform: "ensemble" max_batch_size: ${rows} input ${tensor('jpeg', 'UINT8', -1)} output ${tensor('label', 'STRING', 1)}
ensemble_scheduling { step [ ${steps.join(', ')} ] }`,
  }
}

/** For our server, with a plan for the fakes that merges requests. */
export function ensembleRepository(): string {
  const shape = [3, side, side]
  const profile = { min: [1, ...shape], opt: [8, ...shape], max: [8, ...shape] }
  // what waits comes together: a module that awaits decodes several pictures at once
  const steps = (input: string, output: string): string =>
    `backend: "node" max_batch_size: 8 input ${input} output ${output} ${instances}`
  return put(join(temporaryFolder(), 'ensemble'), {
    preprocess: {
      config: steps(tensor('jpeg', 'UINT8', -1), tensor('tensor', 'FP32', ...shape)),
      file: 'model.mjs',
      content: preprocess,
    },
    network: {
      config: `backend: "tensorrt" max_batch_size: 8 input ${tensor('x', 'FP32', ...shape)} output ${tensor('y', 'FP32', ...shape)} dynamic_batching { }
instance_group [ { count: 1 kind: KIND_GPU } ]`,
      file: 'model.plan',
      content: identityPlan([-1, ...shape], { profiles: [{ dims: { x: profile } }] }),
    },
    postprocess: {
      config: steps(tensor('scores', 'FP32', ...shape), tensor('label', 'STRING', 1)),
      file: 'model.mjs',
      content: postprocess,
    },
    classify: ensemble('network', ['x', 'y'], 8),
  })
}

/** For a Triton that has a model `identity` in C++. */
export function tritonEnsembleRepository(): string {
  const steps = (input: string, output: string): string =>
    `backend: "python" max_batch_size: 0 input ${input} output ${output} ${instances}`
  return put(join(temporaryFolder(), 'ensemble-triton'), {
    preprocess: {
      config: steps(tensor('jpeg', 'UINT8', -1), tensor('tensor', 'FP32', values)),
      file: 'model.py',
      content: pythonPreprocess,
    },
    postprocess: {
      config: steps(tensor('scores', 'FP32', -1), tensor('label', 'STRING', 1)),
      file: 'model.py',
      content: pythonPostprocess,
    },
    classify: ensemble('identity', ['INPUT0', 'OUTPUT0'], 0),
  })
}
