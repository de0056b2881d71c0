/** The optional peer onnxruntime-common: its copies, which are loaded where they are needed and not before. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type * as Common from 'onnxruntime-common'
import { findPeer } from '../base/peer.js'
import { lacking } from '../base/remedies.js'

/** Which copy of the package: the ES module that `import` gives, or the CommonJS module that `require` gives. */
export type Copy = 'import' | 'require'

/**
 * A copy of onnxruntime-common, the very one that programs get by `import` or by `require`: their classes are not each
 * other's. It is loaded at once, so that a module which needs it may be required, too.
 * @throws TensorRTError ERR_TRT_NO_ONNXRUNTIME where it is not installed, or cannot be loaded
 */
export function loadCommon(copy: Copy): typeof Common {
  try {
    return createRequire(import.meta.url)(pathOf(copy)) as typeof Common
  } catch (cause) {
    const message = `node-tensorrt/onnxruntime needs onnxruntime-common, which cannot be loaded: ${(cause as Error).message.split('\n')[0] ?? ''}`
    throw lacking('ERR_TRT_NO_ONNXRUNTIME', message, { cause, details: { peer: 'onnxruntime-common' } })
  }
}

interface Manifest {
  readonly name?: string
  readonly exports?: Readonly<Partial<Record<Copy, string>>>
}

function pathOf(copy: Copy): string {
  const required = findPeer('onnxruntime-common')
  if (copy === 'require') return required
  for (let folder = dirname(required); dirname(folder) !== folder; folder = dirname(folder)) {
    const { name, exports } = manifestIn(folder)
    if (name === 'onnxruntime-common') return exports?.import === undefined ? required : join(folder, exports.import)
  }
  return required
}

function manifestIn(folder: string): Manifest {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  } catch {
    return {}
  }
}
