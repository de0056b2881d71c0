// What a model says of itself, by its engine or by its ONNX file.
import type { ModelFacts, ModelTensorFacts } from '../config/model-facts.js'
import { invalid } from '../faults.js'
import type { Engine } from '../../engine.js'
import type { TensorInfo } from '../../backend/backend.js'
import { inspectModel, type ValueInfo } from '../../onnx/info.js'
import { readModel } from '../../onnx/model.js'
import { type DType, dtypes } from '../../tensor.js'

export function factsOfEngine(engine: Engine, format: ModelFacts['format']): ModelFacts {
  const known = (names: readonly string[], infos: Readonly<Record<string, TensorInfo>>): readonly ModelTensorFacts[] =>
    names.map((name) => infos[name]).filter((info) => info !== undefined).map(factsOf) // prettier-ignore
  return {
    format,
    inputs: known(engine.inputNames, engine.inputs),
    outputs: known(engine.outputNames, engine.outputs),
    unsupported: engine.unsupported,
  }
}

function factsOf({ name, dtype, shape, profiles, profileValues }: TensorInfo): ModelTensorFacts {
  return { name, dtype, shape, profiles, isShapeTensor: profileValues.length > 0 }
}

/**
 * What has to be known before a plan can be built of it.
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_ONNX_PARSE; Fault INVALID_ARG where a number of
 * dimensions is not known
 */
export async function factsOfOnnx(path: string, model: string): Promise<ModelFacts> {
  const { inputs, outputs } = inspectModel(await readModel(path))
  const all = [...inputs, ...outputs]
  return {
    format: 'onnx',
    inputs: inputs.filter(isTensor).map((value) => factsOfValue(value, model)),
    outputs: outputs.filter(isTensor).map((value) => factsOfValue(value, model)),
    unsupported: all
      .filter((value) => !isTensor(value))
      .map(({ name, kind, dtype }) => ({ name, type: kind === 'tensor' ? dtype : kind })),
  }
}

type TensorValue = ValueInfo & { readonly dtype: DType }

function isTensor(value: ValueInfo): value is TensorValue {
  return value.kind === 'tensor' && (dtypes as readonly string[]).includes(value.dtype)
}

function factsOfValue({ name, dtype, shape }: TensorValue, model: string): ModelTensorFacts {
  if (shape === undefined)
    throw invalid(
      `Expected a number of dimensions for tensor '${name}' of model '${model}', but its ONNX file has none`,
    )
  return {
    name,
    dtype,
    shape: shape.map((size) => (typeof size === 'number' ? size : -1)),
    profiles: [],
    isShapeTensor: false,
  }
}
