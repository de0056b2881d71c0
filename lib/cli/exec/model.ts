import { inspectModel, readModel } from '../../onnx/index.js'

/** What of an ONNX file decides what trtexec's options come to. */
export interface ModelFacts {
  readonly inputs: readonly { readonly name: string; readonly shape: readonly (number | string)[] | undefined }[]
  readonly outputs: readonly string[]
  /** Whether it has quantizing layers: ranges of its own. */
  readonly quantizes: boolean
}

/** @throws TensorRTError ERR_TRT_FILE, ERR_TRT_ONNX_PARSE */
export async function modelFacts(path: string): Promise<ModelFacts> {
  const { inputs, outputs, operators } = inspectModel(await readModel(path))
  return {
    inputs,
    outputs: outputs.map(({ name }) => name),
    // also those of com.microsoft
    quantizes: Object.keys(operators).some((name) => /(^|\.)(Q|Deq)uantizeLinear$/.test(name)),
  }
}
