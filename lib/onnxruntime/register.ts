/**
 * `import 'node-tensorrt/onnxruntime/register'`, before all other imports, or
 * `node --import node-tensorrt/onnxruntime/register app.mjs`: transformers.js, which takes what stands in
 * `globalThis[Symbol.for('onnxruntime')]`, and packages that make sessions by onnxruntime-common get those of
 * node-tensorrt/onnxruntime afterwards. It registers under the names of onnxruntime-node's own providers (cpu, cuda,
 * tensorrt, webgpu, dml, coreml) above its priority of 100, in each copy of onnxruntime-common that is installed.
 * Packages that import onnxruntime-node get it too, in this way: it makes its sessions by onnxruntime-common. Imported
 * after onnxruntime-node, it throws a TensorRTError of code ERR_TRT_INVALID_ARGUMENT, since onnxruntime-common keeps
 * what was registered first.
 *
 * What it cannot do: transformers.js knows no devices of a runtime that stands under the symbol, and takes `cpu` for
 * its default all the same, which it then refuses: a line has to say `device: 'auto'`. Without
 * the symbol it needs none: `node --require node-tensorrt/onnxruntime app.mjs` registers with the copy of
 * onnxruntime-common that onnxruntime-node has where npm installs one. Worker threads need it for
 * themselves, which `--import` sees to (in Node 20 not for code that a worker is given as text).
 * @module node-tensorrt/onnxruntime/register
 */
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { packageRoot } from '../base/package.js'
import { mainModule } from '../base/peer.js'
import { standIn } from './early.js'
import * as ort from './entry.js'

standIn(ort, {
  globals: globalThis,
  folders: [dirname(mainModule()), packageRoot()],
  loaded: Object.keys(createRequire(import.meta.url).cache),
  warn: (message) => process.emitWarning(message, 'TensorRTWarning'),
})
