import { inspectModel, readModel } from '../../onnx/index.js'
import { loadAddon, native, tensorrtPath } from '../../backend/native.js'
import type { LibraryKind } from '../../backend/facts.js'
import type { ExecSettings } from './settings.js'

/** Who builds. */
export interface Target {
  readonly name: string
  readonly kind: LibraryKind
  readonly version: string
  /** Where there is one. */
  readonly computeCapability?: string | undefined
}

/**
 * The library that a build would take. @throws TensorRTError ERR_TRT_NO_LIBRARY, ERR_TRT_NO_ADDON, ERR_TRT_NO_DRIVER,
 * ERR_TRT_NO_GPU, ERR_TRT_PLATFORM
 */
export async function targetOf({ tensorrt, device }: Pick<ExecSettings, 'tensorrt' | 'device'>): Promise<Target> {
  const { name, kind, version, gpu } = await native(async () =>
    loadAddon().chooseBuilder({ tensorrt: tensorrtPath(tensorrt), device }),
  )
  return { name, kind, version, computeCapability: gpu?.computeCapability }
}

/**
 * Whether options mean what they mean to trtexec 11, which TensorRT-RTX's is like: types are the model's, and what is
 * measured by default differs.
 */
export function isModern({ kind, version }: Pick<Target, 'kind' | 'version'>): boolean {
  return kind === 'rtx' || Number(version.split('.')[0]) >= 11
}

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
