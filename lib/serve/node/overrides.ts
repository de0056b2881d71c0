// Which files of a load would be code that runs in this process.
import { runtimeOf } from '../config/backends.js'
import { readConfigJson } from '../config/read.js'
import { Fault } from '../faults.js'

/**
 * Modules never come over the wire, whatever --allow-file-override says. To be called for each load that brings files.
 *
 * @param files the names of the files, as `1/model.js`
 * @param config the JSON of the load, where it has one
 * @throws Fault UNSUPPORTED
 */
export function refuseModuleFiles(name: string, files: Iterable<string>, config: string | undefined): void {
  for (const file of files) if (isModule(file)) throw refused(`file:${file} of model '${name}' is a module of JavaScript`)
  if (config !== undefined && isForNode(config)) throw refused(`the config of model '${name}' is for JavaScript`)
}

function refused(what: string): Fault {
  return new Fault(
    'UNSUPPORTED',
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
