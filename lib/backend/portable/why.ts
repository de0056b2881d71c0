import { TensorRTError } from '../../errors.js'
import { loadAddon } from '../native.js'

/**
 * Forces the portable way: for tests, and to see whether the addon has a hand in something. Read whenever an engine is
 * opened.
 */
const variable = 'NODE_TENSORRT_PORTABLE'

/**
 * Why ONNX on the CPU runs without the addon here: what the addon's loading says, or the variable; nothing where it
 * runs with it.
 */
export function whyPortable(): string | undefined {
  if (process.env[variable] === '1') return `${variable}=1 asks for that`
  try {
    loadAddon()
    return undefined
  } catch (error) {
    if (error instanceof TensorRTError && error.code === 'ERR_TRT_NO_ADDON') return error.message
    if (error instanceof TensorRTError && error.code === 'ERR_TRT_PLATFORM') return withoutRemedy(error)
    throw error
  }
}

/** The remedy is to run ONNX on the CPU, which is what happens. */
function withoutRemedy({ message, details }: TensorRTError): string {
  return message.replace(`. What to do: ${String(details['remedy'])}`, '')
}
