import { openFile } from '../../base/files.js'
import type { Shapes } from '../../building/shapes.js'
import { looksLikeOnnx } from '../../onnx/sniff.js'
import { profileOf, type ShapesGiven } from './builder.js'

/**
 * The profile for opening a model. A plan has its profiles since it was built: `--shapes` is then no more than what it
 * runs at.
 * @throws TensorRTError as {@link profileOf}
 */
export async function openingShapes(path: string, given: ShapesGiven): Promise<Shapes | undefined> {
  if (given.shapes === undefined || !(await isBuilt(path))) return profileOf(given)
  const { shapes: _shapes, ...ranges } = given
  return profileOf(ranges)
}

/** Whether a file is of a plan's kind; of one that cannot be read, who opens it says why. */
export async function isBuilt(path: string): Promise<boolean> {
  try {
    await using file = await openFile(path)
    const { buffer, bytesRead } = await file.read(new Uint8Array(8), 0, 8, 0)
    return bytesRead === 8 && !looksLikeOnnx(buffer)
  } catch {
    return false
  }
}
