import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join } from 'node:path'

export type PeerFile =
  | '@grpc/grpc-js'
  | 'fastify'
  | 'onnxruntime-common'
  | 'onnxruntime-native'
  | 'onnxruntime-native/package.json'
  | 'onnxruntime-node'
  | 'onnxruntime-node/package.json'
  | 'pino'
  | 'prom-client'
  | 'sharp'

/**
 * Where a file of an optional peer is: from this package, else from the program that runs, since a linked package does
 * not see its user's modules. The folder that a program is called in is not looked at: it may be anybody's, and a
 * peer is code. Throws what `require.resolve` does where it is in neither.
 */
export function findPeer(file: PeerFile): string {
  try {
    return createRequire(import.meta.url).resolve(file)
  } catch {
    return createRequire(mainModule()).resolve(file)
  }
}

/**
 * The version of the optional peer that a file is of; nothing where it is not installed. Nothing is loaded. Its
 * package.json is the nearest one with its name above the file, since not every package lets others resolve it.
 */
export function peerVersion(file: PeerFile): string | undefined {
  const [name] = file.split('/')
  try {
    for (let folder = dirname(findPeer(file)); dirname(folder) !== folder; folder = dirname(folder)) {
      const { name: found, version } = manifestIn(folder)
      if (found === name) return version
    }
  } catch {
    // not installed
  }
  return undefined
}

function manifestIn(folder: string): { readonly name?: string | undefined; readonly version?: string | undefined } {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      name?: string | undefined
      version?: string | undefined
    }
  } catch {
    return {}
  }
}

/**
 * The program as it was called, through links: what the modules of an app are found from. Code of the command line and
 * of the prompt has no file: Node resolves what it imports from the folder, too.
 */
export function mainModule(): string {
  const program = process.argv[1] ?? ''
  return isAbsolute(program) ? program : join(process.cwd(), 'package.json')
}
