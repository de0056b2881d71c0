import { loadAddon, native, tensorrtPath } from '../../backend/native.js'
import type { LibraryKind } from '../../backend/facts.js'

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
export async function targetOf({
  tensorrt,
  device,
}: {
  readonly tensorrt?: string | undefined
  readonly device: number
}): Promise<Target> {
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
