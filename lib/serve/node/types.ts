// Models in JavaScript, as those who write them see them: `export default defineModel({ … })` of a model.js.
import type { Tensor } from '../../tensor.js'

/** A text of an output of TYPE_STRING: its bytes, or a string, which goes out as UTF-8. */
export type ModelText = Uint8Array | string

/** Texts with a shape of their own. */
export interface ShapedTexts {
  /** With the rows of the batch first where the model has batches. */
  readonly shape: readonly number[]
  /** Row-major, as many as `shape` says. */
  readonly data: readonly ModelText[]
}

/**
 * An output: a Tensor of the config's `data_type`, or for TYPE_STRING an array of texts. The shape is `dims` of the
 * config, with the rows of the batch first where `max_batch_size` is above 0. A bare array has the one shape that
 * `dims` leaves for its length; where `dims` leave several, give {@link ShapedTexts}.
 */
export type ModelOutputValue = Tensor | readonly ModelText[] | ShapedTexts

/** The outputs of one request, by name. Those that {@link ModelRequest.outputs} does not name may be left out. */
export type ModelOutputs = Readonly<Record<string, ModelOutputValue>>

/** What a model is loaded with. */
export interface ModelContext {
  /** Of the model: the name of its folder. */
  readonly name: string
  /** The name of the version's folder, such as `1`. */
  readonly version: string
  /** The absolute path of the version's folder, which has the module's file. */
  readonly folder: string
  /** The config, complete, as `/config` has it: with the names of model_config.proto. */
  readonly config: Readonly<Record<string, unknown>>
  /** `parameters` of the config, each by its key. */
  readonly parameters: Readonly<Record<string, string>>
  /** The number of this instance of `instance_group`, from 0. Each is a thread with a copy of the module. */
  readonly instance: number
  /** Aborted when the load is given up, or the server ends it. */
  readonly signal: AbortSignal
}

/** A request that came for the model, held against the config already. */
export interface ModelRequest {
  /** The client's; empty where it gave none. */
  readonly id: string
  /**
   * All inputs by name: a Tensor, or for TYPE_STRING the bytes of each text. Their memory is this request's: read it
   * until `execute` is done, and copy what is to be kept. A tensor of it may be an output, and is not copied then.
   */
  readonly inputs: Readonly<Record<string, Tensor | Uint8Array[]>>
  /** The shapes of all inputs by name, with the rows of the batch first where `max_batch_size` is above 0. */
  readonly shapes: Readonly<Record<string, readonly number[]>>
  /** The names of the outputs that are wanted; others are dropped. */
  readonly outputs: readonly string[]
  /** What the client gave beside the tensors, without what the server itself reads. */
  readonly parameters: Readonly<Record<string, string | number | boolean>>
  /** Aborted when nobody waits for this request any more: the client left, or its time is over. */
  readonly signal: AbortSignal
  /**
   * A tensor of zeros, or of whatever the memory had before, to be filled and given as this output: it goes out without
   * a copy, and in an ensemble it may lie in the memory of the next engine. A tensor of the model's own is copied once.
   * @param name an output of the config that is no TYPE_STRING
   * @param shape with the rows of the batch first where `max_batch_size` is above 0
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a name that is no such output; ERR_TRT_SHAPE for a shape that
   * the config forbids; ERR_TRT_OUT_OF_MEMORY
   */
  readonly output: (name: string, shape: readonly number[]) => Tensor
}

/** What {@link JavaScriptModel.execute} has beside its requests. */
export interface ExecuteOptions {
  /** Aborted when nobody waits for any of the requests any more. */
  readonly signal: AbortSignal
}

/**
 * For each request, in their order: its outputs, or an Error, whose text the client gets, with status 500; with 400
 * that of an {@link InvalidRequestError}.
 */
export type ModelAnswers = readonly (ModelOutputs | Error)[]

/** A model in JavaScript; see {@link defineModel}. */
export interface JavaScriptModel {
  /**
   * How many calls of `execute` may be under way at once in an instance, 1 to 1024; default 1: it is called again when
   * it is done. For a model that awaits (a picture that sharp decodes, an answer from elsewhere), so that no request
   * waits for the slowest of the batch before it.
   */
  readonly concurrency?: number | undefined
  /**
   * Called once, before the first request. Where it throws, the model is not loaded. It has no limit of its own:
   * whoever loads the model may give it up (`context.signal`).
   */
  load?(context: ModelContext): void | Promise<void>
  /**
   * Answers what has come together: with `max_batch_size` 0 one request, else requests of that many rows at most. It is
   * called again when it is done, or before that where {@link JavaScriptModel.concurrency} is above 1. Where it throws,
   * all of these requests fail with the text.
   */
  execute(requests: readonly ModelRequest[], options: ExecuteOptions): ModelAnswers | Promise<ModelAnswers>
  /**
   * Called once, after the last request, before the thread ends; after `--exit-timeout-secs` the thread ends without
   * it.
   */
  unload?(): void | Promise<void>
}
