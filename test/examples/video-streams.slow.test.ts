// The example of four streams: the picture of its page is what it draws, and its models are of INT8.
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import type { StreamsStats } from '../../lib/video/index.js'
import { readImage } from '../../lib/vision/index.js'
import { needs } from '../support/needs.js'
import { centerFacePath } from '../support/tensorrt.js'
import { example } from './running.js'

needs('ffmpeg', 'CenterFace')

interface Results {
  readonly written?: string
  readonly faces?: readonly number[]
  readonly models: readonly { readonly share: number }[]
  readonly stats: StreamsStats
  readonly meanBatch: readonly number[]
}

t.test('video-streams', async (t) => {
  const [seconds, fps] = [1, 2]
  const args = ['--seconds', String(seconds), '--fps', String(fps), '--size', '64', '--out', t.testdir(), '--json']
  const { code, stdout, stderr } = await example('video-streams', args, { NODE_TENSORRT_CENTERFACE: centerFacePath })
  t.equal(code, 0, stderr)
  const { written = '', faces, models, stats, meanBatch } = JSON.parse(stdout) as Results
  const frames = seconds * fps
  t.strictSame(faces, [3, 3, 5, 4].map((people) => people * frames), 'people in the photographs') // prettier-ignore
  t.equal(stats.sources.length, 4)
  for (const row of stats.sources) t.match(row, { decoded: frames, delivered: frames, dropped: 0, inferred: frames })
  for (const { share } of models) t.ok(share > 0.9)
  for (const rows of meanBatch) t.ok(rows >= 1 && rows <= 4)
  const [made, kept] = [await readImage(written), await readImage(join(packageRoot(), 'docs/video-streams.jpg'))]
  t.match(made, { width: kept.width, height: kept.height })
  const difference = made.data.reduce((sum, value, at) => sum + Math.abs(value - kept.data[at]!), 0) / made.data.length
  t.ok(difference < 8, `the page's picture differs by ${difference} of 255 on average`)
})
