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
  return (request, ...rest) => buildAfter(refuse(request), rest[1], () => build(request, ...rest))
}

async function refuse(request: NativeBuildRequest): Promise<void> {
  await refuseOther(request)
  await refuseForeign(request)
}

/** @throws TensorRTError ERR_TRT_DTYPE for a model that takes or gives texts, or what is no tensor */
async function refuseForeign({ path, model }: NativeBuildRequest): Promise<void> {
  const [{ declaredValues }, { describeValue }] = await Promise.all([
    import('../onnx/declared-inputs.js'),
    import('../onnx/info.js'),
  ])
  const values = await declaredValues(path ?? model ?? new Uint8Array())
  for (const { use, value } of values) {
    const { name, kind, dtype } = describeValue(value)
    const isForeign = kind === 'tensor' ? dtype === 'string' : kind !== 'unknown'
    if (!isForeign) continue
    const type = kind === 'tensor' ? dtype : kind
    throw new TensorRTError(
      'ERR_TRT_DTYPE',
      `The ${use} ${JSON.stringify(name)} of the model is ${kind === 'tensor' ? 'of texts (string)' : `no tensor but of the kind ${kind}`}, which TensorRT has none of. ` +
        "What to do: run the model on the CPU (backend: 'cpu'), or cut it so that such values stay outside of it (GraphEditor of node-tensorrt/onnx)",
      { details: { [use]: name, type } },
    )
  }
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
