/** The methods of tasks that go through a video. */
import { VideoSource } from '../../video/index.js'
import type { DetectedFrame, Found } from '../found.js'
import type { BlurredVideo, SegmentedFrame, VideoInput } from './options.js'
import { checkedLoop, checkedWrite } from './options.js'
import { Shown } from './progress.js'
import { throughTask } from './through.js'
import { blurring, type Blurs, detecting, type Detects, segmenting, type Segments } from './work.js'

export async function blurredVideo(
  task: Blurs<unknown>,
  most: number,
  [input, output, options]: readonly unknown[],
): Promise<BlurredVideo> {
  const call = checkedWrite(options, output, input instanceof VideoSource, 'blurVideo')
  const through = throughTask(input as VideoInput, call, blurring(task, most))
  const shown = new Shown()
  let [regions, framesWithRegions] = [0, 0]
  for (;;) {
    const next = await through.next()
    if (next.done === true) {
      const { info, decoder } = next.value
      const sounds = call.writing.audio === false ? 0 : info.audio.length
      return { frames: shown.frames, framesWithRegions, regions, duration: shown.duration, sounds, decoder }
    }
    const { frame, answer } = next.value
    shown.add(frame)
    regions += answer.length
    framesWithRegions += Number(answer.length > 0)
  }
}

export async function* detectedFrames(
  task: Detects,
  most: number,
  [input, options]: readonly unknown[],
): AsyncGenerator<DetectedFrame, void, undefined> {
  const call = checkedLoop(options, input instanceof VideoSource, 'detectVideo')
  const work = detecting(task, most, call.output !== undefined)
  for await (const { frame, answer } of throughTask<Found[]>(input as VideoInput, call, work))
    yield { frame, found: answer }
}

export async function* segmentedFrames(
  task: Segments,
  most: number,
  [input, options]: readonly unknown[],
): AsyncGenerator<SegmentedFrame, void, undefined> {
  const call = checkedLoop(options, input instanceof VideoSource, 'segmentVideo')
  const work = segmenting(task, most, call.output !== undefined)
  for await (const { frame, answer } of throughTask(input as VideoInput, call, work)) yield { frame, mask: answer }
}
