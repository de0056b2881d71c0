/** The methods of tasks that go through a video. */
import { VideoSource } from '../../video/index.js'
import type { DetectedFrame } from '../found.js'
import type { BlurredVideo, SegmentedFrame, VideoInput } from './options.js'
import { checkedLoop, checkedWrite } from './options.js'
import { Shown } from './progress.js'
import { type FrameWork, throughTask } from './through.js'
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

type Frames<T> = AsyncGenerator<T, void, undefined>

export async function* detectedFrames(task: Detects, most: number, args: readonly unknown[]): Frames<DetectedFrame> {
  const work = (draws: boolean) => detecting(task, most, draws)
  for await (const { frame, answer } of answered(args, 'detectVideo', work)) yield { frame, found: answer }
}

export async function* segmentedFrames(task: Segments, most: number, args: readonly unknown[]): Frames<SegmentedFrame> {
  const work = (draws: boolean) => segmenting(task, most, draws)
  for await (const { frame, answer } of answered(args, 'segmentVideo', work)) yield { frame, mask: answer }
}

/** The frames of a loop with their answers, drawn on them where they are written. */
function answered<R>(
  [input, options]: readonly unknown[],
  owner: string,
  workFor: (draws: boolean) => FrameWork<R>,
): ReturnType<typeof throughTask<R>> {
  const call = checkedLoop(options, input instanceof VideoSource, owner)
  return throughTask(input as VideoInput, call, workFor(call.output !== undefined))
}
