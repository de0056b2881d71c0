import { isPromise } from 'node:util/types'
import './disposal.js'

/**
 * Every code that a {@link TensorRTError} can carry, with what it means. The one place where codes are listed:
 * docs/guides/errors.md is made of it by scripts/error-page.mjs. Each has a comment of paragraphs: when it comes; after
 * "Message:" one of its messages; after "Remedy:" what mends it (of what a machine lacks base/remedies.ts says it);
 * after "Details:" what `details` has.
 */
export const errorCodes = {
  // Calls and tensors
  /**
   * An argument or option has a wrong type, a value out of range or an unknown name, or contradicts another one. Most
   * are found before any work begins.
   *
   * Message: `Expected a number of lanes from 1 to 64 for lanes but received number 0`
   *
   * Remedy: Change the argument that the message names. It says what was expected and what came.
   *
   * Details: `option` where it is one of the builder.
   */
  ERR_TRT_INVALID_ARGUMENT: 'an argument has the wrong type or an impossible value',
  /**
   * A record of inputs, the option `shapes` or a batch of a calibrator names an input that the model does not have.
   *
   * Message: `The model has no input "image": it has the input "images"`
   *
   * Remedy: Use the names in `engine.inputNames`, or those that `npx node-tensorrt inspect` prints.
   *
   * Details: `name`, and `known`: the names that the model has.
   */
  ERR_TRT_UNKNOWN_INPUT: 'a name was given that is no input of the model',
  /**
   * A call, or a batch of a calibrator, lacks one of the model's inputs.
   *
   * Message: `Input "images" (float32 [-1, 3, 224, 224]) is missing: the model has the input "images"`
   *
   * Remedy: Give a tensor for each name in `engine.inputNames`.
   *
   * Details: `name`, and `known`: the names that the model has.
   */
  ERR_TRT_MISSING_INPUT: 'an input of the model was not given',
  /**
   * A tensor has another data type than the input or output that it is for. Also: the model has an input or output that
   * no Tensor can hold (sequences, maps), or a data type that the backend does not take.
   *
   * Message: `Expected float32 for input "images" but received float64`
   *
   * Remedy: Make the tensor of the type in `engine.inputs[name].dtype`. `tensor.toFloat32()` and
   * `Tensor.fromFloat32(dtype, numbers, shape)` convert between the types of floats.
   *
   * Details: `name`, `expected` and `received`; of what no Tensor can hold `input` or `output`, and `type`.
   */
  ERR_TRT_DTYPE: 'a tensor has another data type than the model wants',
  /**
   * A shape does not fit the data, the model, or any of its optimization profiles; or the `min`, `opt` and `max` of a
   * build are not in order. Of a task: the model's inputs or outputs are not those of the preset.
   *
   * Message: `Expected shape [-1, 3, 224, 224] (-1: any size) for input "images" but received [1, 224, 224, 3]`
   *
   * Remedy: Compare with `engine.inputs[name].shape` and `.profiles`. A larger range of shapes needs another build. For
   * a task, take the preset of the model's family.
   *
   * Details: of inputs `name`, `received`, `expected` and `profiles`.
   */
  ERR_TRT_SHAPE: 'a shape does not fit the tensor, the model or its optimization profiles',
  /**
   * The array behind a tensor was transferred to a worker (`postMessage` with a transfer list), or its resizable buffer
   * shrank.
   *
   * Message: `Expected 602112 bytes behind input "images" but found 0: its buffer was transferred away or resized`
   *
   * Remedy: Transfer a buffer only after `infer` has returned its promise (the data is copied by then), or make a new
   * Tensor.
   */
  ERR_TRT_DETACHED: 'a buffer was transferred away or resized below its tensor',
  /**
   * The options `inputs` and `outputs` of an engine are compared with the model when it is loaded.
   *
   * Message: `The inputs were declared as { "images": float16 } but the model has { "images": float32 }`
   *
   * Remedy: Declare what the model has. `npx node-tensorrt inspect` prints it.
   *
   * Details: `input` or `output`: the first name that differs; `declared` and `model`: data types by name.
   */
  ERR_TRT_DECLARATION: 'the inputs or outputs that were declared for an engine are not those of the model',
  /**
   * A build needs a range of shapes for each dynamic input, and of values for each shape tensor. `warmup()` and
   * `benchmark()` need one shape.
   *
   * Message: `Input 'images' [-1, 3, 224, 224] is dynamic: give its min, opt and max shapes`
   *
   * Remedy: Give `shapes: { images: { min, opt, max } }` to the build or to `Engine.load`.
   *
   * Details: `name` from `benchmark()`; from a build with TensorRT `shapeTensors`: the names of all shape tensors, a
   * line for each.
   */
  ERR_TRT_SHAPES_REQUIRED: 'an input is dynamic and no min/opt/max shapes were given',
  /**
   * `new Engine(…)` loads in the background. `infer`, `stream`, `warmup`, `layers` and `benchmark` wait for it;
   * properties, `inferSync`, `allocate`, `upload` and `share` do not.
   *
   * Message: `The engine has not finished loading: await engine.ready first`
   *
   * Remedy: `await engine.ready`, or make the engine by `await Engine.load(…)`.
   */
  ERR_TRT_NOT_READY: 'the engine has not finished loading',
  /**
   * A call came after `close()` of an engine, builder, refitter, engine cache, task, or client of a server. Calls that
   * began before it end normally.
   *
   * Message: `The engine is closed`
   *
   * Remedy: Stop new work before `close()`: in a server, close the HTTP server first.
   */
  ERR_TRT_CLOSED: 'the engine or builder is closed',
  /**
   * More is asked for than the lanes compute, or, where `batching.priorities` or `batching.queue` limit it, more of one
   * level. The request was not begun.
   *
   * Message: `The engine's queue is full: 1 requests wait, maxQueue is 1`
   *
   * Remedy: Answer 503 and have the client try again later. More throughput: `lanes`, `batching`. A longer queue
   * (`maxQueue`, `maxQueueBytes`, `maxQueue` of a level) only adds waiting. Memory of `engine.allocate()` does not
   * count against `maxQueueBytes`.
   *
   * Details: with `maxQueueBytes`: `waiting`, `limit` and `bytes`, as text.
   */
  ERR_TRT_QUEUE_FULL:
    'as many requests wait, of the engine or of a level, or as many bytes, as maxQueue and maxQueueBytes allow',
  /**
   * Pinned memory of `engine.allocate()` and `engine.allocateBytes()` is not copied, so one inference at a time may use
   * a byte of it, also one that was aborted or timed out, until the device is done. A tensor on a device may be read by
   * several, or written by one (`into`).
   *
   * Message: `A tensor made by engine.allocate() is in use by another inference: await that first`
   *
   * Remedy: `await engine.released(memory)`; for a tensor on a device await the inference that has it, for a picture
   * that is painted (`inPlace`) the call that does. Or allocate one for each inference that is under way.
   */
  ERR_TRT_BUFFER_IN_USE:
    'a tensor made by engine.allocate(), or one on a device that is written, is in use by another inference; or a picture that is painted by another call',
  /**
   * A DeviceTensor was used after `dispose()`, or after the block of its `using`.
   *
   * Message: `The float32 tensor of shape [1, 10] on a device was disposed`
   *
   * Remedy: Dispose it when nothing uses it any more. An inference that has been called keeps what it needs.
   */
  ERR_TRT_DISPOSED: 'a tensor on a device was disposed',
  /**
   * A DeviceTensor of another GPU, or of the CPU, was given; or one for an input whose values the CPU reads (a shape
   * tensor).
   *
   * Message: `Expected a tensor on the host or on GPU 1 for input 'images' but received one on GPU 0: await its
   * toHost(), and give that`
   *
   * Remedy: `await tensor.toHost()`, and give the result; or load both engines with one `device`.
   */
  ERR_TRT_DEVICE: 'a tensor is on another device than where it is needed',
  /**
   * `Engine.attach` got a token of an engine that is closed in all threads, or of another process. Engines are shared
   * between the threads of one process alone.
   *
   * Message: `No engine of this process goes by the token: it was closed everywhere, or the token is another process's`
   *
   * Remedy: Keep the engine open that gave the token until the others are attached. In another process load the plan
   * again.
   */
  ERR_TRT_TOKEN: 'the token of a shared engine is stale, or of another process',
  /**
   * `timeoutMs` counts from the call, so waiting in the queue (and for `engine.ready`) is part of it. Work that had not
   * begun is dropped.
   *
   * Message: `Not done within 50 ms`
   *
   * Remedy: Look at `engine.stats().queueMs` and `computeMs`: where requests wait, add lanes or batching, or a smaller
   * `maxQueue`; where they compute, a larger `timeoutMs`.
   *
   * Details: `timeoutMs`.
   */
  ERR_TRT_TIMEOUT: 'the time given with timeoutMs ran out',
  /**
   * No lane took the request within the `queueTimeoutMs` of its level or of its call. The time that a request runs does
   * not count. The request was not begun.
   *
   * Message: `No lane took the request within 20 ms, the queue timeout of level 1`
   *
   * Remedy: Answer 503 and have the client try again later. More throughput: `lanes`, `batching`. Where an answer that
   * is late is better than none, `onQueueTimeout: 'delay'`. A lower level may wait for as long as those before it have
   * requests.
   *
   * Details: `queueTimeoutMs` and `level`.
   */
  ERR_TRT_QUEUE_TIMEOUT: 'no lane took the request within its queueTimeoutMs',

  // Files, models and plans
  /**
   * A file is missing, unreadable, a folder or a pointer of Git LFS; a write would replace a file that the same value
   * was read from; or the folder of the engine cache cannot be used or is not safe.
   *
   * Message: `Cannot read /models/none.onnx: there is no such file`
   *
   * Remedy: Mend the path or its rights. To replace a model's own file: `overwrite: true`, on the command line
   * `--force`. Another cache: option `cache`, or NODE_TENSORRT_CACHE.
   *
   * Details: `path`; `code` of the system's error, which is the `cause`.
   */
  ERR_TRT_FILE: 'a file cannot be read or written',
  /**
   * A source is neither ONNX nor a plan: a checkpoint of PyTorch, a web page in place of a download, an empty file; or
   * ONNX was given where only a plan will do.
   *
   * Message: `Expected ONNX or a TensorRT plan in /models/yolo11n.pt but found a checkpoint of PyTorch (zip): export
   * the network with torch.onnx.export`
   *
   * Remedy: Export the model to ONNX, or download it again: the message says which, where its first bytes tell.
   */
  ERR_TRT_MODEL_FORMAT: 'the bytes are neither ONNX nor a TensorRT plan',
  /**
   * A picture is damaged, truncated, in no format that sharp reads, or larger than `limitPixels`; or sharp is not
   * installed.
   *
   * Message: `Cannot read /models/model.onnx: it is an ONNX model: give it to load(), and a picture here`
   *
   * Remedy: Give another picture; `npm install sharp` where it is missing; a larger `limitPixels` where the size is
   * meant.
   */
  ERR_TRT_IMAGE: 'a picture cannot be read',
  /**
   * A video is damaged, cut short, has no pictures, or cannot be made as it was asked for: what ffmpeg says of it is in
   * the message. Frames that came before the damage were given.
   *
   * Message: `Cannot read the video of 1024 bytes: ffprobe ended with exit code 1; it said: …`
   *
   * Remedy: Play the file with another program. A file that was cut short has no index (moov) unless it was written to
   * be streamed: make it again.
   *
   * Details: `exitCode`, `signal`, and `stderr`: the last lines of ffmpeg.
   */
  ERR_TRT_VIDEO_DATA: 'a video is damaged, has no pictures, or cannot be made',
  /**
   * The file is damaged or truncated, or of another kind, an attribute or type is wrong, or weights in other files are
   * missing or lie outside of the model's folder.
   *
   * Message: `The ONNX model is damaged or truncated: a field goes beyond the end`
   *
   * Remedy: Export or download it again, with the files of its weights beside it. `checkModel` of node-tensorrt/onnx
   * lists what is wrong.
   *
   * Details: from TensorRT's parser `operator`, `node` and `reason`.
   */
  ERR_TRT_ONNX_PARSE: 'the ONNX model cannot be parsed',
  /**
   * TensorRT's parser has no such operator, or not with these attributes or types.
   *
   * Message: `TensorRT 10.15.1 cannot parse the ONNX model: node 0 'the-node' (MyCrop): TensorRT has no operator
   * MyCrop`
   *
   * Remedy: Replace the node (GraphEditor of node-tensorrt/onnx), take a newer TensorRT, or give a library with a
   * plugin: `plugins` of a Builder, `tensorrt: { builder: { plugins } }` of an engine. onnxruntime may have the
   * operator: `{ backend: 'cpu' }`. `npx node-tensorrt inspect` finds it before a build.
   *
   * Details: `operator`, `node` and `reason`.
   */
  ERR_TRT_UNSUPPORTED_OPERATOR: 'TensorRT has no implementation of an operator of the model',
  /**
   * A precision was asked for that nothing of the model has (INT8 without quantizing layers), or that nothing can be
   * converted to; or Q/DQ is to be put into a model that has it already.
   *
   * Message: `TensorRT 11.4.0 takes its types from the model, which has no 'int8'. (Flags for precisions need TensorRT
   * 10.) The model's tensors: 2 float32; its quantizing layers: none. Put QuantizeLinear and DequantizeLinear of int8
   * into the ONNX model, as quantize() and `trt quantize` do`
   *
   * Remedy: INT8: make the model by `quantize`, or on TensorRT 10 give a `calibrator`. FP16 and BF16: leave the
   * precision out where the model has it already, else see what the message says of its nodes.
   *
   * Details: `precision`; of types `tensors` and `quantized`; of a conversion `node` and `reason`.
   */
  ERR_TRT_PRECISION: 'the precision that was asked for cannot be had from this model with this TensorRT',
  /**
   * TensorRT took the model and found no way to run it: no kernel for a layer, too little workspace, a contradiction of
   * options.
   *
   * Message: `TensorRT 10.15.1 could not build an engine from the model: IBuilder::buildSerializedNetwork: Error Code
   * 4: …`
   *
   * Remedy: Read `error.log`. What helps most often: a larger `workspace`, other `shapes`, fewer constraints
   * (`precisionConstraints`, `tacticSources`), a newer TensorRT.
   */
  ERR_TRT_BUILD: 'TensorRT could not build an engine',
  /**
   * The file of the option `timingCache` is not used, and is left as it is.
   *
   * Message: `TensorRT 10.15.1 cannot use the timing cache /models/timing.cache on this GPU: …`
   *
   * Remedy: Name another file, or delete this one: one file for each version of TensorRT and model of GPU.
   *
   * Details: `path`, `library` and `reason`.
   */
  ERR_TRT_TIMING_CACHE: 'a timing cache is damaged, or made for another TensorRT or GPU',
  /**
   * The data has no batch, the model has no float32 values, or a stored calibration is damaged or of another model.
   *
   * Message: `There is no data: the iterable for the calibration has no batch`
   *
   * Remedy: Give data, or measure again with another file for the cache.
   */
  ERR_TRT_CALIBRATION: 'ranges cannot be measured, or a calibration cache is damaged or made for something else',
  /**
   * With `isolation: 'process'` a build runs in a child process, and ffmpeg is one for each video. It crashed, was
   * killed (often for want of memory), or could not start. This process goes on.
   *
   * Message: `The process in which TensorRT built was ended by SIGSEGV before its first step`
   *
   * Remedy: `signal` SIGKILL: give the machine or container more memory, or build fewer at once. Else report the model
   * to NVIDIA, and try another version of TensorRT.
   *
   * Details: `signal`, `exitCode`, `phase` and `stderr`: its last lines.
   */
  ERR_TRT_CRASH: 'a process that ran TensorRT or ffmpeg for us ended without an answer, or could not be started',
  /**
   * The header, the sidecar or TensorRT says that the plan does not run here: damage, another version, GPU or system, a
   * plugin or host code that it lacks.
   *
   * Message: `The plan of 8 bytes is no plan of TensorRT: it does not begin as one does`
   *
   * Remedy: Build the plan on the machine that runs it; the engine cache does that by itself. For many GPUs:
   * `hardwareCompatibility` or `versionCompatible`, or TensorRT-RTX. `Plan.inspect` tells what a plan was built by and
   * for.
   *
   * Details: `plan` and `found`: what it was built for, and what is here; `option`: the one that would help; `path`.
   */
  ERR_TRT_PLAN: 'the plan is truncated, damaged or made for another TensorRT or GPU',
  /**
   * The plan was built with `placeholderRanges` (trtexec's `--int8` alone), to be timed.
   *
   * Message: `The plan has ranges of INT8 that nobody measured (option placeholderRanges of Builder): its times are
   * real, its outputs mean nothing. …`
   *
   * Remedy: Build it from a model that `quantize` made, or with a calibrator. Only to time it: `allowPlaceholderRanges:
   * true`.
   */
  ERR_TRT_PLACEHOLDER_RANGES:
    'the plan has ranges of INT8 that nobody measured: its times are real, its outputs mean nothing',
  /**
   * A plan that was built with `stripWeights` came without a model for its weights; a name or a model does not fit the
   * plan; or the plan was not built to be refitted.
   *
   * Message: `The plan was built without its weights: give the ONNX model that has them as the option
   * tensorrt.weights. It lacks: 'w'`
   *
   * Remedy: Give `tensorrt: { weights: 'model.onnx' }` to `Engine.load`. To replace weights, build with `refit: true`.
   *
   * Details: `missing`: the names, one a line.
   */
  ERR_TRT_WEIGHTS: 'weights are missing or unknown, or those of the plan cannot be replaced',

  // Running a model
  /**
   * The runtime refused or broke off one inference; others go on. On the CPU most often values that do not fit together
   * (an index out of range, shapes that contradict each other).
   *
   * Message: `TensorRT 10.15.1: enqueueV3 failed: …`
   *
   * Remedy: Look at `error.log` and at the inputs. Compare with `{ backend: 'cpu' }`, which names the node.
   */
  ERR_TRT_EXECUTION: 'TensorRT or the backend failed while running the model',
  /**
   * The driver refused a call for a reason that has no code of its own.
   *
   * Message: `cuStreamCreateWithPriority failed: CUDA_ERROR_NOT_PERMITTED (operation not permitted)`
   *
   * Remedy: Search for the name of the error in CUDA's documentation; try `npx node-tensorrt doctor` and a newer
   * driver.
   *
   * Details: `cuda`: the error's name; `call`.
   */
  ERR_TRT_CUDA: 'a CUDA driver call failed',
  /**
   * The GPU, pinned memory, the heap or the engine's `memoryLimit` has no room for what was asked for. The engine works
   * on.
   *
   * Message: `TensorRT 10.15.1 cannot load the plan of 242 bytes, built by TensorRT 10.15.1: OutOfMemory (Requested
   * size was 1024 bytes.): The engine may hold 1 bytes of device memory (memoryLimit), holds 0 and would need 1024`
   *
   * Remedy: Smaller batches or shapes, fewer `lanes`, a smaller `workspace`, or a larger `memoryLimit`.
   * `engine.memory()` says what the engine holds.
   *
   * Details: `bytes`: what was asked for, where that is known; `needed` with `memoryLimit`.
   */
  ERR_TRT_OUT_OF_MEMORY: 'device, pinned or ordinary memory ran out',
  /**
   * Each lane, load and build has threads; a limit of the system or container is reached.
   *
   * Message: `The system gives this process no further thread, which was to be … (Resource temporarily unavailable):
   * raise what limits it (ulimit -u, pids of the container, memory for the thread's stack), or use fewer engines and
   * lanes`
   *
   * Remedy: Raise the limit, or use fewer engines and lanes.
   *
   * Details: `purpose`: what the thread was for.
   */
  ERR_TRT_NO_THREAD: 'the system gives this process no further thread',
  /**
   * A kernel, the hardware or the driver failed in a way that CUDA ends the context for. All further work on this GPU
   * is refused.
   *
   * Message: `GPU 0 reported an error after which nothing runs on it in this process: start a new one`
   *
   * Remedy: End the process and let its supervisor start a new one. Where it comes again, read the kernel's log
   * (`dmesg`, Xid).
   *
   * Details: `cuda` and `call` in the first such error.
   */
  ERR_TRT_DEVICE_LOST: 'the GPU reported an error after which nothing runs on it in this process',
  /**
   * A server of models could not answer a request, load a model or start: what the message says is what its clients are
   * told, in Triton's words where Triton has any. A client has the server's text as its message, or why the server
   * could not be asked.
   *
   * Message: `failed to load all models: load failed for model 'resnet50': Cannot read resnet50/config.pbtxt, line 1:
   * unknown field "max_batch_sise" for message inference.ModelConfig`
   *
   * Remedy: The message names the model, the file or the field, and what to do. Everything that is read in a
   * `config.pbtxt` is in docs/serving.md.
   *
   * Details: of a server `kind`: INVALID_ARG, NOT_FOUND, UNAVAILABLE, UNSUPPORTED, INTERNAL, CANCELLED, TIMEOUT or
   * TOO_LARGE; of a client `status` (HTTP's number, or the name of gRPC's code), `url`, `model`, and `sent`: whether
   * anything of the request was sent.
   */
  ERR_TRT_SERVER: 'a server of models could not do what it was asked for',

  // What this machine has
  /**
   * An option or method needs another version or kind of TensorRT, or the backend does not have it (the CPU, or
   * onnxruntime-node without the addon).
   *
   * Message: `Option computeCapabilities: IBuilderConfig::setNbComputeCapabilities needs TensorRT-RTX; this is TensorRT
   * 10.15.1`
   *
   * Remedy: Install the version that the message names, or leave the option out. `npx node-tensorrt doctor` lists what
   * is found.
   *
   * Details: `option`; `lacks`: 'builderResource' or 'gpu' where TensorRT cannot build for this GPU.
   */
  ERR_TRT_UNSUPPORTED: 'the loaded TensorRT is too old, too new or of a kind that cannot do this',
  /**
   * TensorRT was asked for where the addon does not exist: macOS, Windows, musl. ONNX runs there through
   * onnxruntime-node.
   *
   * Message: `TensorRT is supported on Linux x64 and arm64 only; this is darwin-arm64. What to do: …`
   *
   * Details: `remedy`.
   */
  ERR_TRT_PLATFORM: 'this operating system or processor has no TensorRT support here',
  /**
   * The binary of this platform is not in the package, or the system's libraries are older than it needs; or a bundler
   * has put the package into a bundle, which has neither the binary nor the files of threads.
   *
   * Message: `The native addon of node-tensorrt for linux-x64 cannot be loaded from …: Cannot find module … What to do:
   * …`
   *
   * Details: `remedy`.
   */
  ERR_TRT_NO_ADDON: 'the native addon is missing or cannot be loaded',
  /**
   * No TensorRT that builds, or that runs this plan, is at the path that was given, or in the usual places.
   *
   * Message: `There is no TensorRT library at /opt/tensorrt: no such file or folder. What to do: …`
   *
   * Details: `remedy`; `path`, where one was given; `plan`: what the plan needs; `loaded`: libraries that did not do.
   */
  ERR_TRT_NO_LIBRARY: 'no TensorRT library was found',
  /**
   * TensorRT is to run, and libcuda.so.1 is not there or does not start. With `backend: 'auto'` and ONNX this is no
   * error: the CPU is taken, and `engine.backendReason` has the message.
   *
   * Message: `No CUDA driver: libcuda.so.1: cannot open shared object file: No such file or directory. What to do: …`
   *
   * Details: `remedy`; `wishes`: `TENSORRT_PATH`, where the variable asks for TensorRT.
   */
  ERR_TRT_NO_DRIVER: 'no CUDA driver was found',
  /**
   * The driver starts and reports no GPU, or none of the number in the option `device`.
   *
   * Message: `Expected the number of a GPU below 2 for tensorrt.device but received 7: … What to do: …`
   *
   * Details: `remedy`; `gpus`: how many there are.
   */
  ERR_TRT_NO_GPU: 'the CUDA driver sees no GPU',
  /**
   * A model is to run on the CPU, and no onnxruntime was found or it cannot be loaded. A process has one onnxruntime: a
   * second path is refused, too.
   *
   * Message: `There is no onnxruntime at /opt/onnxruntime: no such file or folder. What to do: …`
   *
   * Details: `remedy`; `path`, `loaded` or `package`: where it was looked for.
   */
  ERR_TRT_NO_ONNXRUNTIME: 'the CPU backend needs the package onnxruntime-node',
  /**
   * Videos are read and written by the programs ffmpeg and ffprobe, of version 5.1 or newer. They are not there, too
   * old, or built without the encoder that is needed.
   *
   * Message: `There is no program ffmpeg at /opt/ffmpeg, which the option ffmpeg names. What to do: …`
   *
   * Details: `remedy`; `program`; `path`, where one was found or given; `version`; `encoder`, where one is missing.
   */
  ERR_TRT_VIDEO_PROGRAM: 'ffmpeg is missing, too old, or lacks an encoder',
} as const

/** The code of a {@link TensorRTError}: a key of {@link errorCodes}. */
export type ErrorCode = keyof typeof errorCodes

/** What the constructor of {@link TensorRTError} takes beside code and message. */
export interface TensorRTErrorOptions {
  /** What led to this error. */
  cause?: unknown
  /**
   * The last lines that TensorRT logged before it, oldest first, each with its severity; without those that the message
   * quotes.
   */
  log?: readonly string[] | undefined
  /**
   * Figures and names for programs, such as `{ operator, node }`; what is in it depends on the code: with
   * ERR_TRT_OUT_OF_MEMORY `bytes`, what was asked for, where that is known.
   */
  details?: Readonly<Record<string, unknown>> | undefined
}

/** The one error class of this package. Programs look at `code`, people at `message`. */
export class TensorRTError extends Error {
  /** What went wrong, for programs: a key of {@link errorCodes}. */
  readonly code: ErrorCode
  /**
   * The last lines that TensorRT logged before the error, oldest first, each with its severity; without those that the
   * message quotes.
   */
  readonly log: readonly string[]
  /** Figures and names for programs; which they are depends on the code. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: TensorRTErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'TensorRTError'
    this.code = code
    this.log = options.log ?? []
    this.details = options.details ?? {}
    // what is empty is not printed
    for (const name of ['log', 'details'] as const)
      if (Object.keys(this[name]).length === 0) Object.defineProperty(this, name, { enumerable: false })
    if (!frequent.has(code)) beginWithCaller(this)
  }
}

/** Codes that an overloaded service may get thousands of times a second: their stacks are left as they are. */
const frequent: ReadonlySet<ErrorCode> = new Set([
  'ERR_TRT_QUEUE_FULL',
  'ERR_TRT_QUEUE_TIMEOUT',
  'ERR_TRT_SERVER',
  'ERR_TRT_TIMEOUT',
])

/** The folder of this package's modules, as a URL. In a bundle of CommonJS there is none. */
const ours = (import.meta.url as string | undefined)?.replace(/[^/]*$/, '')

/** Makes a stack begin with the line that called this package. It costs 15 µs, and is formatted when it is read. */
function beginWithCaller(error: Error): void {
  const captured: { stack?: unknown } = {}
  Error.captureStackTrace(captured, TensorRTError)
  const define = (property: PropertyDescriptor): unknown =>
    Object.defineProperty(error, 'stack', { configurable: true, ...property })
  define({
    get: () => {
      const { stack } = captured
      // Error.prepareStackTrace may return anything
      return typeof stack === 'string' ? `${error.name}: ${error.message}${callerFrames(stack)}` : stack
    },
    set: (value: unknown) => define({ value, writable: true }),
  })
}

/** All frames if none of them is the caller's, as in the command line. */
function callerFrames(stack: string): string {
  const frames = stack.split('\n').filter((line) => /^ {4}at /.test(line))
  const first = frames.findIndex((frame) => !(ours && frame.includes(ours)) && !frame.includes('(node:internal/'))
  return frames
    .slice(Math.max(0, first))
    .map((frame) => `\n${frame}`)
    .join('')
}

/**
 * The same error in other words: what was known where it came up, and what is known where it arrives. `details` are
 * added to its own.
 */
export function reworded(
  error: TensorRTError,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): TensorRTError {
  const { code, cause, log } = error
  return new TensorRTError(code, message, {
    log,
    details: { ...error.details, ...details },
    ...(cause !== undefined && { cause }),
  })
}

/** `value` for a message: its type, and the value itself where that is short. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string')
    return `string ${JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)}`
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return `${typeof value} ${String(value)}`
  return typeof value === 'object' ? describeObject(value) : typeof value
}

/** A proxy or a getter may throw here; a message about a wrong value is worth more than that. */
function describeObject(value: object): string {
  try {
    if (Array.isArray(value)) return describeArray(value)
    if (isPromise(value)) return 'a Promise: await it'
    const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: unknown } | undefined } | null
    const name = prototype?.constructor?.name
    return typeof name === 'string' && name !== '' ? name : 'object'
  } catch {
    return 'object'
  }
}

function describeArray(value: readonly unknown[]): string {
  const isShort = value.length <= 8 && value.every((element) => typeof element === 'number')
  return isShort ? `array [${value.join(', ')}]` : `array of ${value.length}`
}

/** The one form of a message about an argument: "Expected X for NAME but received Y". */
export function expected(what: string, name: string, received: unknown): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `Expected ${what} for ${name} but received ${describe(received)}`,
  )
}
