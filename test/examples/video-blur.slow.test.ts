// The example that hides the faces of a video: all of them, with the sound, and the picture of its page is what it
// makes.
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { probeVideo } from '../../lib/video/index.js'
import { readImage } from '../../lib/vision/index.js'
import { needs } from '../support/needs.js'
import { centerFacePath } from '../support/tensorrt.js'
import { example } from './running.js'

needs('ffmpeg', 'CenterFace')

t.test('video-blur', async (t) => {
  const args = ['--fps', '5', '--backend', 'cpu', '--out', t.testdir(), '--json']
  const { code, stdout, stderr } = await example('video-blur', args, { NODE_TENSORRT_CENTERFACE: centerFacePath })
  t.equal(code, 0, stderr)
  const done = JSON.parse(stdout) as Record<string, any>
  t.match(done, { frames: 15, framesWithFaces: 15, sounds: 1 })
  t.ok(done['faces'] >= 3 * 15, `${done['faces']} faces: each photograph has three or more`)
  t.match(await probeVideo(done['written'], { count: true }), {
    frames: 15,
    width: 640,
    height: 360,
    audio: [{ codec: 'aac' }],
  })
  const [made, kept] = [await readImage(done['picture']), await readImage(join(packageRoot(), 'docs/video-blur.jpg'))]
  t.match(made, { width: kept.width, height: kept.height })
  const difference = made.data.reduce((sum, value, at) => sum + Math.abs(value - kept.data[at]!), 0) / made.data.length
  t.ok(difference < 12, `the page's picture differs by ${difference} of 255 on average`)
})
