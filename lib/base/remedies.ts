import { existsSync, readFileSync } from 'node:fs'
import { guideUrl } from './guide-url.js'
import { isRuntimeReplaced } from './onnxruntime-package.js'
import { type ErrorCode, TensorRTError, type TensorRTErrorOptions } from '../errors.js'

/**
 * What mends it where a machine lacks what a job needs. The one place of these words: `trt doctor` and {@link
 * capabilities} print them, and every error about such a thing ends with them.
 */
const remedies = {
  ERR_TRT_PLATFORM: () => "give ONNX to run on the CPU: { backend: 'cpu' }",
  ERR_TRT_NO_ADDON: ({ bundled }) => (bundled === true ? leaveExternal : installAddon),
  ERR_TRT_NO_DRIVER: ({ need }) => driverRemedy(surroundings()) + orWithoutGpu(need),
  ERR_TRT_NO_GPU: ({ gpus, need }) => gpuRemedy(gpus) + orWithoutGpu(need),
  ERR_TRT_NO_LIBRARY: ({ path, plan }) =>
    path !== undefined ? pathRemedy(path) : plan !== undefined ? planRemedy(plan) : install,
  ERR_TRT_NO_ONNXRUNTIME: ({ path, loaded, package: folder, peer }) =>
    peer !== undefined
      ? 'npm install onnxruntime-common'
      : path !== undefined
        ? onnxruntimeRemedy(path, loaded !== undefined)
        : folder !== undefined
          ? again
          : isRuntimeReplaced()
            ? installNative
            : installOnnxRuntime,
  ERR_TRT_VIDEO_PROGRAM: ({ by, encoder }) =>
    encoder !== undefined
      ? `${installFfmpeg}; or take another codec`
      : by !== undefined
        ? ffmpegPathRemedy(by)
        : installFfmpeg,
} satisfies Partial<Record<ErrorCode, (details: Details) => string>>

type Details = Readonly<Record<string, unknown>>

/** The codes of errors about what a machine lacks. */
export type LackCode = keyof typeof remedies

const installAddon = 'install the package again (npm install node-tensorrt), or in a checkout: npm run build'

const leaveExternal = `leave node-tensorrt external, as with esbuild --external:node-tensorrt; for other bundlers see ${guideUrl('guides/bundlers.md')}`

const rtx = 'pip install tensorrt-rtx-cu13-libs==1.7.1.116'
const elsewhere = 'elsewhere installed: set TENSORRT_PATH to its folder'
const install = `pip install tensorrt-cu13, or for building without a GPU: ${rtx}; ${elsewhere}`

/** Its install script downloads CUDA libraries, which nothing here uses, and fails the installation where it cannot. */
const installOnnxRuntime =
  'npm install onnxruntime-node; behind a firewall: ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node'

/** Where overrides lead onnxruntime-node to this package, its library comes under another name. */
const installNative =
  'npm install onnxruntime-native@npm:onnxruntime-node, since overrides put node-tensorrt in the place of ' +
  'onnxruntime-node; or set ONNXRUNTIME_PATH'

const again =
  'remove the onnxruntime-node that is installed, which has no library that loads here, and install it again ' +
  `(${installOnnxRuntime}); or set ONNXRUNTIME_PATH`

/** Debian 12, Ubuntu 23.04 and what came after them have 5.1 or newer, with every encoder that is asked for here. */
const installFfmpeg =
  'apt-get install ffmpeg (5.1 or newer: Debian 12, Ubuntu 24.04), or set FFMPEG_PATH to the program or its folder'

/** For pictures, which sharp reads and writes. */
export const installSharp = 'npm install sharp'

export function isLack(code: ErrorCode): code is LackCode {
  return Object.hasOwn(remedies, code)
}

/** `details`: those of the error, which may say more closely what is missing. */
export function remedyOf(code: LackCode, details: Details = {}): string {
  return remedies[code](details)
}

/** An error about what this machine lacks: its message ends with the remedy, which `details.remedy` is too. */
export function lacking(code: LackCode, message: string, options: TensorRTErrorOptions = {}): TensorRTError {
  const remedy = remedyOf(code, options.details)
  return new TensorRTError(code, `${message}. What to do: ${remedy}`, {
    ...options,
    details: { ...options.details, remedy },
  })
}

/** An error of any code that came from elsewhere (native code, another thread): what is lacking gets its remedy. */
export function errorOf(code: ErrorCode, message: string, options: TensorRTErrorOptions): TensorRTError {
  return isLack(code) ? lacking(code, message, options) : new TensorRTError(code, message, options)
}

/** What says why a machine has no CUDA driver. */
export interface Surroundings {
  readonly inContainer: boolean
  /** Whether there are a GPU's device files. */
  readonly hasDevices: boolean
}

export function driverRemedy({ inContainer, hasDevices }: Surroundings): string {
  if (inContainer && hasDevices)
    return "this container has a GPU but not its driver's library: NVIDIA_DRIVER_CAPABILITIES has to name compute (docker run --gpus all)"
  if (inContainer)
    return 'this container was started without GPUs: docker run --gpus all, with the NVIDIA driver and its Container Toolkit on the host'
  if (hasDevices)
    return "there is a GPU but not its driver's library: install libcuda.so.1, or put its folder on LD_LIBRARY_PATH"
  return 'install the NVIDIA driver; in a container: docker run --gpus all'
}

function orWithoutGpu(need: unknown): string {
  return need === 'building' ? `; or build with TensorRT-RTX, which needs no GPU for it: ${rtx}` : ''
}

function planRemedy(plan: unknown): string {
  return `install ${String(plan)}, or build the plan for the TensorRT that is to run it; ${elsewhere}`
}

function gpuRemedy(gpus: unknown): string {
  const hidden = process.env['CUDA_VISIBLE_DEVICES']
  const shown = hidden === undefined ? '' : ` (CUDA_VISIBLE_DEVICES is ${JSON.stringify(hidden)})`
  if (gpus !== undefined) return `see npx node-tensorrt doctor for the GPUs that are there${shown}`
  return `check nvidia-smi${shown}; in a container: docker run --gpus all`
}

function pathRemedy(path: unknown): string {
  const name = path === process.env['TENSORRT_PATH'] ? 'TENSORRT_PATH' : 'the option tensorrt.library'
  return `${name} names the folder of libnvinfer.so or libtensorrt_rtx.so, or the library itself; without it, TensorRT is looked for in the usual places`
}

function onnxruntimeRemedy(path: unknown, otherIsLoaded: boolean): string {
  const name = path === process.env['ONNXRUNTIME_PATH'] ? 'ONNXRUNTIME_PATH' : 'the option cpu.library'
  if (otherIsLoaded)
    return `${name} names the library that is loaded, or is left out; another one needs a process of its own`
  return `${name} names the folder of libonnxruntime.so.1, or the library itself; without it, onnxruntime-node's is used`
}

function ffmpegPathRemedy(by: unknown): string {
  return `${String(by)} names the program ffmpeg, or the folder that has it and ffprobe; without it, PATH is searched. To install it: apt-get install ffmpeg`
}

function surroundings(): Surroundings {
  return {
    inContainer: isContainer(),
    hasDevices: ['/dev/nvidiactl', '/dev/nvidia0', '/dev/dxg', '/dev/nvhost-gpu'].some(existsSync),
  }
}

/** Docker and Podman leave a file; Kubernetes a variable; with cgroups of version 1 the name stands in /proc too. */
function isContainer(): boolean {
  if (['/.dockerenv', '/run/.containerenv'].some(existsSync) || process.env['KUBERNETES_SERVICE_HOST'] !== undefined)
    return true
  try {
    return /docker|containerd|kubepods|libpod|lxc/.test(readFileSync('/proc/1/cgroup', 'utf8'))
  } catch {
    return false
  }
}
