/** One inference: its inputs and options checked against the model, and handed to the backend. */
import type { Backend, Results, RunOptions } from '../backend/backend.js'
import type { Cut } from '../base/cancellation.js'
import type { AnyTensor } from '../device-tensor.js'
import { type CallInput, isTensor, refuseUnsupported } from './arguments.js'
import type { AnyTensorRecord } from './forms.js'
import { type CallOptions, runOptions } from './infer-options.js'
import { lacking, type Loaded } from './loading.js'

/** Makes the value of a call. */
type Finish = (results: Results) => AnyTensor | AnyTensorRecord

/**
 * @param packed of outputs that are texts, {@link RunOptions.packed}
 * @throws TensorRTError as {@link Engine.infer}
 */
export function run(
  loaded: Loaded,
  input: CallInput,
  options: CallOptions | undefined,
  cut: Cut | undefined,
  packed = false,
): Promise<AnyTensor | AnyTensorRecord> {
  const { backend, checker, forms } = loaded
  if (options === undefined) refuseUnusable(loaded)
  const inputs = checker.check(input)
  if (backend.device === undefined) refuseLacking(backend, inputs, options)
  const call =
    options === undefined && cut === undefined
      ? forms.defaults
      : { ...runOptions(options, loaded, inputs), cut, packed }
  return backend.run(inputs, withOptional(call, loaded, input), finishOf(loaded, input, options))
}

/** @throws TensorRTError as {@link Engine.inferSync} */
export function runSync(
  loaded: Loaded,
  input: CallInput,
  options: CallOptions | undefined,
): AnyTensor | AnyTensorRecord {
  const { backend, checker, forms } = loaded
  if (backend.runSync === undefined) throw lacking('inferSync()', backend)
  if (options === undefined) refuseUnusable(loaded)
  const inputs = checker.check(input)
  const call = options === undefined ? forms.defaults : runOptions(options, loaded, inputs)
  const finish = finishOf(loaded, input, options)
  return finish(backend.runSync(inputs, withOptional(call, loaded, input)))
}

function withOptional(call: RunOptions | undefined, { checker }: Loaded, input: CallInput): RunOptions | undefined {
  const optionalInputs = checker.optional(input)
  return optionalInputs === undefined ? call : { ...call, optionalInputs }
}

function finishOf({ forms }: Loaded, input: CallInput, options: CallOptions | undefined): Finish {
  return isTensor(input) ? forms.bare(options?.outputs) : forms.record
}

/** @throws TensorRTError ERR_TRT_DTYPE where a call without options needs what no Tensor can hold */
export function refuseUnusable({ unsupported, forms, outputNames }: Loaded): void {
  if (unsupported.length > 0) refuseUnsupported(unsupported, forms.wanted, outputNames)
}

/**
 * @throws TensorRTError ERR_TRT_UNSUPPORTED where nothing stays on the device of a backend, which has no queue of
 * levels either
 */
function refuseLacking(backend: Backend, inputs: readonly AnyTensor[], options: CallOptions | undefined): void {
  if (inputs.some(({ location }) => location === 'device')) throw lacking('a DeviceTensor', backend)
  const { location = 'host', priority = 1, queueTimeoutMs } = options ?? {}
  if (location !== 'host') throw lacking("location: 'device'", backend)
  if (priority !== 1) throw lacking('priority', backend)
  if (queueTimeoutMs !== undefined) throw lacking('queueTimeoutMs', backend)
}
