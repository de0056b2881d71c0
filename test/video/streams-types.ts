/** What streams give, by their task: compiled, never run. */
import type { BlurResult, Classifier, Detector, FaceBlur, Found, Segmenter } from '../../lib/tasks/index.js'
import { streams, type VideoFrame } from '../../lib/video/index.js'
import type { ClassScore, Mask } from '../../lib/vision/index.js'

export async function compiled(
  detector: Detector,
  segmenter: Segmenter,
  classifier: Classifier,
  faces: FaceBlur,
): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const { result } of streams(['a.mp4'], detector)) all.push(result satisfies Found[])
  for await (const { result } of streams(['a.mp4'], segmenter)) all.push(result satisfies Mask)
  for await (const { result } of streams(['a.mp4'], classifier)) all.push(result satisfies ClassScore[])
  for await (const { result } of streams(['a.mp4'], faces))
    all.push(result.image satisfies VideoFrame, result.regions satisfies BlurResult['regions'])
  for await (const { result } of streams(['a.mp4'], async (frame, { signal }) => [frame.pts, signal.aborted] as const))
    all.push(result satisfies readonly [number, boolean])
  return all
}
