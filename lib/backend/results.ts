import { fitsDims, shapeText } from '../base/dims.js'
import { TensorRTError } from '../errors.js'
import type { AnyTensor } from '../device-tensor.js'
import type { Tensor } from '../tensor.js'
import { bytesOfTensor, isWhole } from '../tensor.js'

/** A result, in the tensor that was given for it. @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DETACHED */
export function placed(result: AnyTensor | undefined, into: AnyTensor | undefined): AnyTensor | undefined {
  if (result === undefined || into === undefined || result === into) return result
  if (result.location === 'device' || into.location === 'device') return result // written there by the backend, or not at all
  const wanted = result.shape
  if (!fitsDims(into.shape, wanted)) {
    const found = `Expected a tensor of shape ${shapeText(wanted)} for the output but received one of ${shapeText(into.shape)}`
    throw new TensorRTError('ERR_TRT_SHAPE', found)
  }
  checkedBytesOf(into).set(checkedBytesOf(result))
  return into
}

function checkedBytesOf(tensor: Tensor): Uint8Array {
  if (!isWhole(tensor)) {
    throw new TensorRTError(
      'ERR_TRT_DETACHED',
      'The buffer of a tensor given for an output was transferred away or resized',
    )
  }
  return bytesOfTensor(tensor)
}
