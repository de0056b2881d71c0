import { isLack } from '../base/remedies.js'
import { reworded, TensorRTError } from '../errors.js'

// What becomes of a wish for TensorRT that cannot be fulfilled: an error, under `auto` too. What any runtime can mean
// is no wish. What the CPU lacks where the addon does not load, it says itself.

/**
 * For the end of a message about what the CPU backend lacks, or went wrong there; nothing where the message says the
 * reason already.
 */
export function autoChoiceNote(reason: string | undefined, message = ''): string {
  return reason === undefined || message.includes(reason)
    ? ''
    : `, which 'auto' took since TensorRT cannot run here: ${reason}`
}

/**
 * What `auto` does where TensorRT cannot build and run: the reason for taking the CPU, or an error where something asks
 * for TensorRT. That is an option, or $TENSORRT_PATH where nothing can be loaded from it: then it is a mistake, and not
 * a matter of the machine.
 * @throws TensorRTError the same as `why`
 */
export function reasonForCpu(why: TensorRTError, wishes: readonly string[]): string {
  if (wishes.length > 0) throw unfulfilled(why, wishes, `The ${optionsText(wishes)}`)
  if (isUnloadable(why)) throw unfulfilled(why, ['TENSORRT_PATH'], 'The variable TENSORRT_PATH')
  return why.message
}

/** Whether a build has failed for want of something that this machine's TensorRT or GPU has not: not for the model. */
export function isUnableToBuild(error: unknown): error is TensorRTError {
  return error instanceof TensorRTError && error.code === 'ERR_TRT_UNSUPPORTED' && error.details['lacks'] !== undefined
}

function unfulfilled(why: TensorRTError, wishes: readonly string[], subject: string): TensorRTError {
  const ask = wishes.length === 1 ? 'asks' : 'ask'
  return reworded(why, `${subject} ${ask} for TensorRT, which cannot run here: ${why.message}`, { wishes })
}

/** Without options, a path can only be that of the variable. */
function isUnloadable({ code, details }: TensorRTError): boolean {
  if (!process.env['TENSORRT_PATH']) return false
  if (code === 'ERR_TRT_NO_ADDON' || code === 'ERR_TRT_PLATFORM') return true
  return code === 'ERR_TRT_NO_LIBRARY' && details['loaded'] === undefined
}

function optionsText(names: readonly string[]): string {
  return `option${names.length === 1 ? '' : 's'} ${names.join(', ')}`
}

/** An error about a plan where TensorRT cannot run: ONNX could. */
export function withOnnxRemedy(error: unknown): unknown {
  if (!(error instanceof TensorRTError) || !isLack(error.code) || error.code === 'ERR_TRT_PLATFORM') return error
  const more = "or give the ONNX model that the plan was built from, which runs on the CPU too: { backend: 'cpu' }"
  return reworded(error, `${error.message}; ${more}`, { remedy: `${String(error.details['remedy'])}; ${more}` })
}
