import {
  Builder,
  capabilities,
  Engine,
  EngineCache,
  type ErrorCode,
  errorCodes,
  onLog,
  Plan,
  Refitter,
  TensorRTError,
} from 'node-tensorrt'

async function codeOf(work: () => Promise<unknown>): Promise<ErrorCode | 'none'> {
  try {
    await work()
    return 'none'
  } catch (error) {
    if (error instanceof TensorRTError) return error.code
    throw error
  }
}

/** Needs the addon, which the tarball of a test lacks. */
export function listen(): () => void {
  return onLog(({ level, text }) => console.log(level, text), 'warning')
}

async function main(): Promise<void> {
  const { driver, gpus, missing } = await capabilities()
  const builder = new Builder({ precision: 'fp16', workspace: '1GiB', isolation: 'none' })
  const codes = [
    await codeOf(() => Engine.load('no-such.onnx')),
    await codeOf(() => Plan.load('no-such.plan')),
    await codeOf(() =>
      builder.build('no-such.onnx', {
        signal: AbortSignal.timeout(60_000),
        onProgress: ({ phase }) => console.log(phase),
      }),
    ),
  ]
  await builder.close()
  const text: string = errorCodes.ERR_TRT_FILE
  const types = [typeof EngineCache, typeof Refitter]
  // what the builder lacks first is the machine's
  console.log(
    codes.slice(0, 2),
    codes[2] !== 'none',
    text.length > 0,
    types,
    typeof driver.found,
    gpus.length >= 0,
    missing.every(({ remedy }) => remedy !== ''),
  )
}

void main()

// It prints:
// [ 'ERR_TRT_FILE', 'ERR_TRT_FILE' ] true true [ 'function', 'function' ] boolean true true
