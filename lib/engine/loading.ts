/** A model on its way, then loaded, failed or closed: what every call of an engine asks first. */
import type { Backend, EngineCalls, UnsupportedTensor } from '../backend/backend.js'
import { within } from '../base/cancellation.js'
import { restacked, failRestacked } from '../base/stacks.js'
import { Work } from '../base/work.js'
import { TensorRTError } from '../errors.js'
import { infosByName, InputChecker, refuseUnrunnable } from './arguments.js'
import { autoChoiceNote, backendReasonOf } from './choice.js'
import { checkDeclaration, type TensorInfos } from './declaration.js'
import { Forms } from './forms.js'
import type { Opener } from './opener.js'
import { missingShapes, warnOfShapes } from './tensorrt-shapes.js'

/** A model that is loaded, with what is known of it. */
export interface Loaded {
  readonly backend: Backend
  readonly inputs: TensorInfos
  readonly outputs: TensorInfos
  /** In the model's order. */
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  readonly optionalInputs: TensorInfos
  readonly customMetadata: Readonly<Record<string, string>>
  readonly unsupported: readonly UnsupportedTensor[]
  readonly checker: InputChecker
  readonly forms: Forms
  /** {@link Engine.backendReason} */
  readonly reason: string | undefined
}

/** Why a load is cut short by close(); nobody sees it. */
const closing = Symbol('closing')

export class Loading {
  /** {@link Engine.ready} */
  readonly ready: Promise<void>
  /** The file that the model is of, where it is of one. */
  readonly file: string | undefined
  /** The model once it is there. */
  loaded: Loaded | undefined
  readonly #cancelled = new AbortController()
  /** Ends when nothing of the loading is under way any more, which may be later than `ready` when it was cut short. */
  #load: Promise<void> = Promise.resolve()
  #failure: { readonly error: unknown } | undefined
  #closing: Promise<void> | undefined
  /** Work that ends before the backend closes: benchmarks under way, the aborted ones too. */
  readonly held = new Work()

  constructor(opener: Opener) {
    this.file = opener.file
    const load = (): Promise<void> => (this.#load = this.#open(opener))
    this.ready = within({ signal: opener.signal }, () => within({ signal: this.#cancelled.signal }, load)).catch(
      (reason: unknown) => this.#fail(reason),
    )
  }

  async #open(opener: Opener): Promise<void> {
    const { signal } = this.#cancelled
    const backend = await opener.open(signal)
    if (signal.aborted) return backend.close()
    try {
      this.loaded = loadedOf(backend, opener)
    } catch (error) {
      await backend.close()
      throw error
    }
  }

  async #fail(reason: unknown): Promise<never> {
    const error = reason === closing ? closed() : reason
    this.#failure = { error }
    this.#cancelled.abort(error)
    try {
      return await failRestacked(error)
    } finally {
      // nobody has to handle it; from here on, since V8 names who waits only where one does
      this.ready.catch(() => {})
    }
  }

  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /** @throws TensorRTError ERR_TRT_NOT_READY before it is loaded, and what `ready` was rejected with */
  known(): Loaded {
    if (this.#failure) throw restacked(this.#failure.error)
    if (!this.loaded)
      throw new TensorRTError('ERR_TRT_NOT_READY', 'The engine has not finished loading: await engine.ready first')
    return this.loaded
  }

  /** @throws TensorRTError ERR_TRT_CLOSED, and what `ready` was rejected with */
  refuseIfOver(): void {
    if (this.#failure) throw restacked(this.#failure.error)
    if (this.#closing) throw closed()
  }

  /** The model for new work. @throws TensorRTError as {@link known} and {@link refuseIfOver} */
  open(): Loaded {
    this.refuseIfOver()
    return this.known()
  }

  /** A second call does no harm. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#cancelled.abort(closing)
    await this.#load.catch(() => {})
    await this.held.idle()
    await this.loaded?.backend.close()
  }
}

function closed(): TensorRTError {
  return new TensorRTError('ERR_TRT_CLOSED', 'The engine is closed')
}

/** @throws TensorRTError ERR_TRT_DECLARATION, ERR_TRT_DTYPE */
function loadedOf(backend: Backend, { declaration, inGroups, tensorrtShapes, file }: Opener): Loaded {
  refuseUnrunnable(backend.unsupported ?? [], backend.outputs.length)
  checkDeclaration(declaration, backend)
  const [inputs, outputs] = [infosByName(backend.inputs), infosByName(backend.outputs)]
  const inputNames = Object.freeze(backend.inputs.map(({ name }) => name))
  const outputNames = Object.freeze(backend.outputs.map(({ name }) => name))
  const optional = backend.optionalInputs ?? []
  const optionalInputs = infosByName(optional)
  const checker = new InputChecker(inputs, inputNames, backend.kind, {
    infos: optionalInputs,
    names: optional.map(({ name }) => name),
    merging: backend.maxBatch !== undefined,
  })
  const customMetadata = Object.freeze(Object.assign(Object.create(null) as object, backend.customMetadata))
  const declared = declaration.outputs && Object.keys(declaration.outputs)
  const unsupported = Object.freeze((backend.unsupported ?? []).map((tensor) => Object.freeze(tensor)))
  const total = outputNames.length + unsupported.filter(({ use }) => use === 'output').length
  const forms = new Forms(outputNames, total, inputNames, declared)
  const needed = missingShapes(backend, tensorrtShapes)
  if (needed !== undefined) warnOfShapes(needed, file)
  const reason = backendReasonOf(backend, inGroups, needed)
  const known = { backend, inputs, outputs, inputNames, outputNames, optionalInputs, customMetadata }
  return { ...known, unsupported, checker, forms, reason }
}

/** What only TensorRT has. */
export function onlyOnGpu(what: string, { reason }: Backend): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_UNSUPPORTED',
    `${what} needs the TensorRT backend; this engine runs on the CPU${autoChoiceNote(reason)}`,
  )
}

/** What only the addon's engines can do. @throws TensorRTError ERR_TRT_UNSUPPORTED where this is none */
export function callsOf({ backend }: Loaded, what: string): EngineCalls {
  if (backend.calls === undefined) throw lacking(what, backend)
  return backend.calls
}

/** What another backend on the same machine could have: this one says why it has not. */
export function lacking(what: string, backend: Backend): TensorRTError {
  if (backend.lacks === undefined) return onlyOnGpu(what, backend)
  return new TensorRTError('ERR_TRT_UNSUPPORTED', `${what} ${backend.lacks}`)
}
