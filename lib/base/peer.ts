import { createRequire } from 'node:module'
import { isAbsolute, join } from 'node:path'

/**
 * Where a file of an optional peer is: from this package, else from the program that runs, since a linked package does
 * not see its user's modules. The folder that a program is called in is not looked at: it may be anybody's, and a
 * peer is code. Throws what `require.resolve` does where it is in neither.
 */
export function findPeer(file: 'onnxruntime-node' | 'onnxruntime-node/package.json' | 'sharp'): string {
  try {
    return createRequire(import.meta.url).resolve(file)
  } catch {
    return createRequire(mainModule()).resolve(file)
  }
}

/**
 * The program as it was called, through links. Code of the command line and of the prompt has no file: Node resolves
 * what it imports from the folder, too.
 */
function mainModule(): string {
  const program = process.argv[1] ?? ''
  return isAbsolute(program) ? program : join(process.cwd(), 'package.json')
}
