import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onFile } from '../base/files.js'
import { Engine } from '../engine.js'
import type { CpuEngineOptions } from '../engine/cpu-options.js'
import type { EngineOptions } from '../engine/options.js'
import { copyModel, GraphEditor, inferTypes, type ModelProto, saveModel, writeModel } from '../onnx/index.js'
import { bytesOfModel, mostBytes } from '../onnx/save.js'
import { isOperator } from './graph.js'

/**
 * EliminateIdentity would undo {@link withRoundedHalves}. For Q/DQ as it stands in the graph: ClipQuantRewrite takes
 * out a Clip before Q/DQ whose whole range lies within 2^-23 of a bound of it, and so lets negative values through.
 */
const asItStands = {
  'session.disable_quant_qdq': '1',
  'optimization.disable_specified_optimizers': 'ClipQuantRewrite;EliminateIdentity',
}

/** Options of an engine that runs a model for a comparison. */
function cpuOptions(cpu: CpuEngineOptions): EngineOptions {
  return { backend: 'cpu', cpu: { ...cpu, config: { ...asItStands, ...cpu.config } } }
}

/**
 * Runs a model on the CPU, Q/DQ as it stands, float16 rounded after each node. @throws what {@link Engine.load} throws;
 * TensorRTError ERR_TRT_FILE
 */
export async function openEngine(
  model: ModelProto,
  cpu: CpuEngineOptions,
  signal: AbortSignal | undefined,
): Promise<Engine> {
  return withSource(withRoundedHalves(model), signal, (source) => Engine.load(source, { ...cpuOptions(cpu), signal }))
}

/**
 * Has a model opened: its bytes, or, where they are more than protobuf takes, files in a temporary folder. That is gone
 * when this is settled; what onnxruntime has mapped of it stays.
 * @param limit The most bytes; tests have no 2 GiB.
 * @throws TensorRTError ERR_TRT_FILE; what `open` throws
 */
export async function withSource<T>(
  model: ModelProto,
  signal: AbortSignal | undefined,
  open: (source: Uint8Array | string) => Promise<T>,
  limit = mostBytes,
): Promise<T> {
  if (bytesOfModel(model) <= limit) return open(writeModel(model))
  const folder = await onFile('make a folder in', tmpdir(), () => mkdtemp(join(tmpdir(), 'node-tensorrt-model-')))
  try {
    const path = join(folder, 'model.onnx')
    await saveModel(model, path, { externalData: true, signal })
    return await open(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * The model so that onnxruntime's CPU rounds each computed float16 value of its outer graph, as a GPU does; the same
 * where there is none. It has next to no float16 kernels: it puts Casts around a node and takes away pairs of them
 * between nodes, so that what lies between is float32 and never overflows. A node that has a kernel (Identity) is
 * computed in float16 only where its neighbour is: hence two of them. `EliminateIdentity` has to be off.
 */
function withRoundedHalves(model: ModelProto): ModelProto {
  const types = inferTypes(model)
  const editor = new GraphEditor(copyModel(model))
  const halves = editor
    .nodes()
    .filter((node) => !isOperator(node, 'Constant'))
    .flatMap((node) => node.output)
    .filter((value) => types.get(value)?.dtype === 'float16')
  if (halves.length === 0) return model
  for (const value of halves) {
    const uses = [...editor.uses(value)]
    if (uses.length === 0) continue
    const rounded = editor.addNode('Identity', [editor.addNode('Identity', [value])])
    for (const { node, input } of uses) editor.replaceInput(node, input, rounded)
  }
  return editor.finish()
}
