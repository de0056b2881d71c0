import { otherThan } from '../base/file-kinds.js'
import { headOfFile, pointed } from '../base/files.js'
import { isLfsPointer } from '../base/lfs.js'
import { TensorRTError } from '../errors.js'
import type { NativeBuildRequest } from '../backend/native-types.js'
import { type Build, buildAfter } from './in-process.js'

/**
 * A way to build that first looks at what is to be built, so that a file of another kind is called that, whatever this
 * machine has to build with.
 */
export function refusingOthers(build: Build): Build {
  return (request, ...rest) => buildAfter(refuseOther(request), rest[1], () => build(request, ...rest))
}

/** @throws TensorRTError ERR_TRT_ONNX_PARSE */
async function refuseOther({ path, model }: NativeBuildRequest): Promise<void> {
  // who reads the file says why it cannot be read
  const head = path === undefined ? model : await headOfFile(path).catch(() => undefined)
  const other = head && otherThan('model', head)
  if (other === undefined) return
  if (head !== undefined && isLfsPointer(head)) throw pointed(path ?? 'the model')
  const label = path ?? `the model of ${model?.length ?? 0} bytes`
  throw new TensorRTError('ERR_TRT_ONNX_PARSE', `Cannot parse ${label} as ONNX: it is ${other}`)
}
