/** The methods of tasks that go through a video. */
import { VideoSource } from '../../video/index.js'
import type { DetectedFrame } from '../found.js'
import { checkedLabels } from '../labels.js'
import type { BlurredVideo, SegmentedFrame, VideoCall, VideoInput } from './options.js'
import { checkedLoop, checkedWrite } from './options.js'
import { Shown } from './progress.js'
import { type FrameWork, throughTask } from './through.js'
import type { VideoPlan } from './plan.js'
import { blurring, type Blurs, detecting, type Detects, type Manner, segmenting, type Segments } from './work.js'

export async function blurredVideo(
  task: Blurs<unknown>,
  { most, rows }: VideoPlan,
  [input, output, options]: readonly unknown[],
): Promise<BlurredVideo> {
  const call = await labelled(checkedWrite(options, output, input instanceof VideoSource, { owner: 'blurVideo', rows }))
  const through = throughTask(input as VideoInput, call, blurring(task, { most, asked: call.asked }))
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

export async function* detectedFrames(task: Detects, plan: VideoPlan, args: readonly unknown[]): Frames<DetectedFrame> {
  const work = (how: Manner, draws: boolean) => detecting(task, how, draws)
  for await (const { frame, answer } of answered(args, 'detectVideo', plan, work)) yield { frame, found: answer }
}

export async function* segmentedFrames(
  task: Segments,
  plan: VideoPlan,
  args: readonly unknown[],
): Frames<SegmentedFrame> {
  const work = (how: Manner, draws: boolean) => segmenting(task, how, draws)
  for await (const { frame, answer } of answered(args, 'segmentVideo', plan, work)) yield { frame, mask: answer }
}

/** The frames of a loop with their answers, drawn on them where they are written. */
async function* answered<R>(
  [input, options]: readonly unknown[],
  owner: string,
  { most, rows }: VideoPlan,
  workFor: (how: Manner, draws: boolean) => FrameWork<R>,
): ReturnType<typeof throughTask<R>> {
  const call = await labelled(checkedLoop(options, input instanceof VideoSource, { owner, rows }))
  return yield* throughTask(input as VideoInput, call, workFor({ most, asked: call.asked }, call.output !== undefined))
}

/** With the names of classes themselves: a file of them is read once, not for each frame. */
async function labelled(call: VideoCall): Promise<VideoCall> {
  const labels = await checkedLabels(call.asked?.['labels'])
  return labels === undefined ? call : { ...call, asked: { ...call.asked, labels } }
}
