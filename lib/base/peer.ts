import { createRequire } from 'node:module'
import { join } from 'node:path'

/**
 * Where a file of an optional peer is: from this package, else from the folder where the program runs, since a linked package does not see its user's
 * modules. Throws what `require.resolve` does where it is in neither.
 */
export function findPeer(file: 'onnxruntime-node' | 'onnxruntime-node/package.json' | 'sharp'): string {
  try {
    return createRequire(import.meta.url).resolve(file)
  } catch {
    return createRequire(join(process.cwd(), 'package.json')).resolve(file)
  }
}
