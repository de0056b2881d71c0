// Four live sources through one task, of which one hangs, and comes back.
import t from 'tap'
import { openVideo, streams, type VideoGap, videoMemory } from '../../lib/video/index.js'
import { freePort } from '../support/ports.js'
import { size } from '../support/tiers.js'
import { certain } from '../support/waiting.js'
import { needs } from '../support/needs.js'
import { clip, moving } from './clips.js'
import { isCounted, leftovers, Pusher } from './live-rig.js'

t.setTimeout(600_000) // many processes, on a machine that may be busy
needs('ffmpeg')

// what the first one leaves stays: libuv's threads, its pipes
const path = await clip('live.mp4', moving('160x120', '25', 2))
for (let i = 0; i < 2; i++) for await (const frame of await openVideo(path, { end: 0.2 })) frame.close()
const nothingLeft = leftovers()

t.test('the others go on while one hangs, and it comes back', async (t) => {
  const times = size(1, 5)
  const hanging = 2
  const gaps: VideoGap[] = []
  const ports: number[] = []
  while (ports.length < 4) {
    const port = await freePort()
    if (!ports.includes(port)) ports.push(port)
  }
  const pushers = ports.map((port) => Pusher.tcp(port, 1))
  const videos = await Promise.all(
    ports.map((port, i) => {
      const reconnect = { afterMs: 500, backoffMs: [20, 100] } as const
      const onGap = (gap: VideoGap): void => {
        if (i === hanging) gaps.push(gap)
        else t.fail(`source ${i}: ${gap.kind} ${gap.reason}`)
      }
      return openVideo(`tcp://127.0.0.1:${port}?listen=1`, { live: true, reconnect, onGap })
    }),
  )
  const run = streams(videos, async (frame) => frame.data[0], {
    onEnd: ({ source }) => t.fail(`source ${source.index} has ended`),
  })
  const [numbers, since] = [[[], [], [], []] as number[][], [0, 0, 0, 0]]
  let [hung, isHanging] = [0, false]
  for await (const { source, frame } of run) {
    numbers[source.index]!.push(frame.number)
    since[source.index]!++
    frame.close()
    const others = since.filter((_, i) => i !== hanging)
    if (!isHanging && since.every((count) => count >= 10)) {
      if (hung++ === times) break
      pushers[hanging]!.stall()
      isHanging = true
      since.fill(0)
    } else if (isHanging && gaps.length === 2 * hung - 1 && others.every((count) => count >= 25)) {
      // what it had sent before it hung
      t.ok(since[hanging]! < 13, `${since[hanging]} frames of the one that hangs, ${others.join(', ')} of the others`)
      pushers[hanging]!.kill() // another one takes its place
      isHanging = false
      since.fill(0)
    }
  }
  for (const [i, list] of numbers.entries()) {
    t.ok(
      list.every((number, k) => k === 0 || number > list[k - 1]!),
      'newer and newer',
    )
    t.equal(videos[i]!.stats().reconnects, i === hanging ? times : 0)
    t.ok(isCounted(videos[i]!), JSON.stringify(videos[i]!.stats()))
  }
  t.strictSame(
    gaps.map(({ kind, reason }) => `${kind} ${reason}`),
    Array.from({ length: times }, () => ['lost stalled', 'back stalled']).flat(),
  )
  await Promise.all(pushers.map((pusher) => pusher.close()))
  await certain(() => videoMemory().used === 0)
  t.ok(await nothingLeft())
})
