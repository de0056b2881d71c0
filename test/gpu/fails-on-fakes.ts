// The checks that fail on the fakes of TensorRT and the driver, "PROGRAM: CHECK", with the code or the message of each.

/** Of the first visit: they fail on a real TensorRT too, because the package cannot do it yet. */
export const firstVisit: Readonly<Record<string, string>> = {
  'plugins: builds and loads EfficientNMS_TRT': 'ERR_TRT_UNSUPPORTED_OPERATOR',
}

const noTool = 'Error: spawn nvidia-smi ENOENT'

/** Of the later visits: no tool of NVIDIA knows the fakes, and they have neither plugins nor lean runtimes. */
export const laterVisits: Readonly<Record<string, string>> = {
  'memory: accounts for inputs and outputs': noTool,
  'memory: accounts for captured CUDA graphs': noTool,
  'server: holds no more memory after 60 reloads than after 10': noTool,
  'portability: rejects a lean runtime inside a plan by default': '"the bits of onnxruntime"',
  'efficient-nms: keeps the boxes that onnxruntime keeps': 'ERR_TRT_UNSUPPORTED_OPERATOR',
}
