// Which files of a load would be code that runs in this process.
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import { modelFileOf, runtimeOf } from '../config/backends.js'
import { readConfigJson } from '../config/read.js'
import { type Fault, unsupported } from '../faults.js'

/**
 * Modules never come over the wire, whatever --allow-file-override says. To be called for each load that brings files.
 *
 * @param files the names of the files, as `1/model.js`
 * @param config the JSON of the load, where it has one
 * @throws Fault UNSUPPORTED
 */
export function refuseModuleFiles(name: string, files: Iterable<string>, config: string | undefined): void {
  for (const file of files)
    if (isModule(file)) throw refused(`file:${file} of model '${name}' is a module of JavaScript`)
  if (config !== undefined && isForNode(config)) throw refused(`the config of model '${name}' is for JavaScript`)
}

/**
 * Which file is a module says the folder: the config of a load is no way to have another one run that lies beside it.
 * To be called for each load that brings a config.
 *
 * @param json what the load brought
 * @param override the same, with what the folder tells
 * @param own the folder's
 * @throws Fault UNSUPPORTED
 */
export function refuseOtherModule(json: ModelConfig, override: ModelConfig, own: ModelConfig): void {
  if (runtimeOf(override) !== 'node') return
  const [wanted, found] = [modelFileOf(override), modelFileOf(own)]
  if (found.runtime === 'node' && (json.defaultModelFilename === '' || wanted.file === found.file)) return
  const runs = found.runtime === 'node' ? `runs ${found.file}` : `is for ${found.runtime}`
  throw unsupported(
    `the config of a load has model '${own.name}' run ${wanted.file} as JavaScript, where its own ${runs}: put backend and default_model_filename into the config.pbtxt of the repository`,
  )
}

function refused(what: string): Fault {
  return unsupported(
    `${what}, which never comes with a load, whatever --allow-file-override says: put it into the model repository`,
  )
}

function isModule(file: string): boolean {
  return /\.([cm]?[jt]s|[jt]sx|node|wasm)$/i.test(file) || /(^|\/)package\.json$/i.test(file)
}

/** What cannot be read is refused when it is loaded. */
function isForNode(json: string): boolean {
  try {
    const config = readConfigJson(json)
    return isModule(config.defaultModelFilename) || runtimeOf(config) === 'node'
  } catch {
    return false
  }
}
