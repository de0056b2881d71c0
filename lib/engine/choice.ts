import type { Backend } from '../backend/backend.js'
import { isLack } from '../base/remedies.js'
import { reworded, TensorRTError } from '../errors.js'
import type { GivenInGroups } from './options.js'

// What is said of the choice of `auto`, and of options that do not count with the runtime that was chosen. What the CPU
// lacks where the addon does not load, it says itself.

/**
 * For the end of a message about what the CPU backend lacks and TensorRT has; nothing where the message says the reason
 * already.
 */
export function autoChoiceNote(reason: string | undefined, message = ''): string {
  return reason === undefined || message.includes(reason)
    ? ''
    : `, which 'auto' took since TensorRT cannot run here: ${reason}`
}

/**
 * What `auto` does where TensorRT cannot build and run: the reason for taking the CPU; or an error where nothing can be
 * loaded from $TENSORRT_PATH, which is a setting of this very machine and so a mistake.
 * @param library the option `tensorrt.library`, which goes before the variable
 * @throws TensorRTError the same as `why`
 */
export function reasonForCpu(why: TensorRTError, library: string | undefined): string {
  if (library !== undefined || !isUnloadable(why)) return why.message
  const what = 'The variable TENSORRT_PATH asks for TensorRT, which cannot run here'
  throw reworded(why, `${what}: ${why.message}`, { wishes: ['TENSORRT_PATH'] })
}

/**
 * {@link Engine.backendReason}: why `auto` took the CPU, what the model needs on TensorRT, and which options are of a
 * group that does not count with what runs the model.
 */
export function backendReasonOf(
  { kind, reason }: Backend,
  given: GivenInGroups,
  needed: string | undefined,
): string | undefined {
  const idle = kind === 'cpu' ? given.tensorrt : given.cpu
  const ofOptions = `of the options, ${listed(idle)} ${idle.length === 1 ? 'does' : 'do'} not count here`
  const parts = [reason, needed, idle.length === 0 ? undefined : ofOptions].filter((part) => part !== undefined)
  const text = parts.join('; ')
  return text === '' ? undefined : reason === undefined ? `${text[0]!.toUpperCase()}${text.slice(1)}` : text
}

function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? ''
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`
}

/** Whether options ask for what this way to run on the CPU lacks, and TensorRT has. */
export function isLackOfCpu(error: unknown): error is TensorRTError {
  return (
    error instanceof TensorRTError && error.code === 'ERR_TRT_UNSUPPORTED' && Array.isArray(error.details['options'])
  )
}

/** Whether a build has failed for want of something that this machine's TensorRT or GPU has not: not for the model. */
export function isUnableToBuild(error: unknown): error is TensorRTError {
  return error instanceof TensorRTError && error.code === 'ERR_TRT_UNSUPPORTED' && error.details['lacks'] !== undefined
}

/** Without the option, a path can only be that of the variable. */
function isUnloadable({ code, details }: TensorRTError): boolean {
  if (!process.env['TENSORRT_PATH']) return false
  if (code === 'ERR_TRT_NO_ADDON' || code === 'ERR_TRT_PLATFORM') return true
  return code === 'ERR_TRT_NO_LIBRARY' && details['loaded'] === undefined
}

/** An error about a plan where TensorRT cannot run: ONNX could. */
export function withOnnxRemedy(error: unknown): unknown {
  if (!(error instanceof TensorRTError) || !isLack(error.code) || error.code === 'ERR_TRT_PLATFORM') return error
  const more = "or give the ONNX model that the plan was built from, which runs on the CPU too: { backend: 'cpu' }"
  return reworded(error, `${error.message}; ${more}`, { remedy: `${String(error.details['remedy'])}; ${more}` })
}
