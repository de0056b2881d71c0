/** Puts this package before onnxruntime-node, for what is imported afterwards. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { messageOf } from '../base/kinds.js'
import { TensorRTError } from '../errors.js'
import { type CommonPackage, commonPackages } from './copies.js'
import { late, type OrtCommon, registerWith } from './registering.js'

/** What transformers.js takes in the place of onnxruntime-node. */
const symbol = Symbol.for('onnxruntime')

/** Where things are put and looked for: tests have others. */
export interface Surroundings {
  /** What gets the symbol. */
  readonly globals: Record<symbol, unknown>
  /** The folders of modules whose copies of onnxruntime-common are meant. */
  readonly folders: readonly string[]
  /** The files of the CommonJS modules that are loaded. */
  readonly loaded: readonly string[]
  /** Tells what could not be done and does no harm. */
  readonly warn: (message: string) => void
}

/**
 * Sets `globalThis[Symbol.for('onnxruntime')]` to `module`, and registers the backend of this package with each copy of
 * onnxruntime-common that is found, CommonJS and ES module. A second time does no harm. A copy that does not load or
 * takes no such backend (before 1.17) is told in a warning.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where onnxruntime-node is loaded already, or another runtime stands
 * for it: what is registered after them is not taken
 */
export function standIn(module: object, { globals, folders, loaded, warn }: Surroundings): void {
  const there = globals[symbol]
  if (there === module) return
  if (there !== undefined) throw late("globalThis[Symbol.for('onnxruntime')] is another runtime already")
  const binding = loaded.find((file) => /[\\/]onnxruntime_binding\.node$/.test(file))
  if (binding !== undefined) throw late(`onnxruntime-node is loaded already (${binding})`)
  for (const one of commonPackages(folders)) registerWithPackage(one, warn)
  globals[symbol] = module
}

function registerWithPackage({ folder, version, modules }: CommonPackage, warn: (message: string) => void): void {
  // From inside of node_modules: Node 20 warns of ES modules that are required elsewhere.
  const require = createRequire(join(folder, 'package.json'))
  for (const file of modules) {
    try {
      registerWith(require(file) as OrtCommon)
    } catch (error) {
      if (error instanceof TensorRTError && error.code === 'ERR_TRT_INVALID_ARGUMENT') throw error
      warn(`onnxruntime-common ${version} in ${folder} does not take node-tensorrt: ${messageOf(error)}`)
    }
  }
}
