// trt video: several videos side by side, answers by frame, interruptions, and mistakes.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import t from 'tap'
import { probeVideo } from '../../lib/video/index.js'
import { temporaryFolder } from '../support/folders.js'
import { needs } from '../support/needs.js'
import { clip } from '../support/video-clips.js'
import { programsOfVideos } from '../support/video-leftovers.js'
import { certain } from '../support/waiting.js'
import { answering, filled } from '../tasks/models.js'
import { type Ran, trt } from './rig.js'

t.setTimeout(300_000) // many processes, on a machine that may be busy
needs('ffmpeg')

const folder = temporaryFolder(t)
const at = (...names: string[]): string => join(folder, ...names)
const [one, none] = [at('one.onnx'), at('none.onnx')]
const yolo = ['--preset', 'yolov8', '--backend', 'cpu']
const video = async (...args: string[]): Promise<Ran> => trt(['video', ...args, ...yolo])
const silently = async (...args: string[]): Promise<any> => {
  const { code, stdout, stderr } = await video(...args, '--json', '--quiet')
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

t.before(async () => {
  writeFileSync(
    one,
    answering([
      filled(
        [1, 84, 84],
        [
          [[0, 0, 0], 32],
          [[0, 1, 0], 32],
          [[0, 2, 0], 24],
          [[0, 3, 0], 20],
          [[0, 4, 0], 0.9],
        ],
      ),
    ]),
  )
  writeFileSync(none, answering([filled([1, 84, 84], [])]))
  await copyFile(await clip('plain'), at('in.mp4'))
  await copyFile(await clip('vfr'), at('vfr.mp4'))
})

t.test('answers alone: a table, one document, a line a frame', async (t) => {
  const table = await video(at('in.mp4'), '--model', one, '--labels', 'coco80', '--end', '0.4')
  t.match(table, {
    code: 0,
    stdout: /^video +frames +seconds +fps +found .*\nin\.mp4 +10 +0\.40 +\S+ +10 in 10 frames +- +-\n$/,
  })
  const found = await silently(at('in.mp4'), '--model', one, '--labels', 'coco80', '--every', '10')
  t.match(found, {
    task: 'detect',
    backend: 'cpu',
    failed: [],
    results: [{ frames: 5, regions: 5, found: [{ label: 'person', count: 5 }] }],
  })
  const lines = await video(at('in.mp4'), '--model', one, '--every', '10', '--jsonl', '--quiet')
  const each = lines.stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as unknown) // prettier-ignore
  t.match(
    each,
    [0, 10, 20, 30, 40].map((number) => ({
      number,
      pts: number / 25,
      found: [{ classIndex: 0, box: [50, 35, 60, 50] }],
    })),
  )
})

t.test('several side by side, of which one fails: the others are done', async (t) => {
  writeFileSync(at('text.mp4'), 'no video')
  const args = [
    at('in.mp4'),
    at('text.mp4'),
    at('vfr.mp4'),
    '--model',
    one,
    '--task',
    'blur',
    '-o',
    at('blurred'),
    '--json',
  ]
  const { code, stdout, stderr } = await video(...args)
  t.equal(code, 1)
  t.match(stderr, /text\.mp4/)
  const { results, failed } = JSON.parse(stdout)
  t.same(results.map(({ written }: any) => basename(written)), ['in-blurred.mp4', 'vfr-blurred.mp4']) // prettier-ignore
  t.match(failed, [{ source: at('text.mp4'), code: 'ERR_TRT_VIDEO_DATA', frames: 0 }])
  for (const { written, frames } of results)
    t.match(await probeVideo(written, { count: true }), { frames, audio: [{}] })
})

t.test('where nothing is found, that is said', async (t) => {
  const { code, stderr } = await video(at('in.mp4'), '--model', none, '--task', 'blur', '-o', at('none.mp4'), '--quiet')
  t.match(
    { code, stderr },
    { code: 0, stderr: /in\.mp4: nothing was found in any of its 50 frames, and .*none\.mp4 shows all that it does/ },
  )
  t.equal((await video(at('in.mp4'), '--model', none, '--require-found', '--quiet')).code, 3)
})

const gpu = existsSync('/dev/nvidiactl') ? 'this machine has a GPU' : false

t.test('a decoder that is not there is said not to be', { skip: gpu }, async (t) => {
  const { code, stderr } = await video(at('in.mp4'), '--model', one, '--hardware', 'cuda', '--end', '0.1', '--quiet')
  t.match({ code, stderr }, { code: 0, stderr: /in\.mp4: decoded without the GPU: ffmpeg has no cuda here: .+/ })
})

t.test('an interruption leaves a file that plays, and says that it is a part', async (t) => {
  const part = at('part.mkv')
  const run = await trt(
    ['video', at('in.mp4'), '--model', one, '--task', 'blur', '--jsonl', '-o', part, ...yolo],
    (session) => {
      const write = session.stdout.write.bind(session.stdout)
      let lines = 0
      session.stdout.write = (text) => {
        if (++lines === 10) session.interrupt('SIGINT')
        return write(text)
      }
    },
  )
  t.match(run, { code: 130, stderr: /part\.mkv is a part: the first \d+ frames of .*in\.mp4\n(.*\n)*.*interrupted\n$/ })
  const [, frames = ''] = /the first (\d+) frames/.exec(run.stderr) ?? []
  t.match(await probeVideo(part, { count: true }), { frames: Number(frames) })
  await certain(() => programsOfVideos().length === 0)
})

t.test('mistakes: a line each', async (t) => {
  mkdirSync(at('clips'))
  writeFileSync(at('picture.png'), '')
  writeFileSync(at('notes.txt'), 'notes')
  const [plain, blur] = [at('in.mp4'), ['--model', one, '--task', 'blur']]
  const cases: readonly (readonly [args: readonly string[], code: number, stderr: RegExp])[] = [
    [[at('picture.png'), ...blur, '-o', at('o.mp4')], 2, /picture\.png is a picture: trt run takes pictures/],
    [[at('notes.txt'), ...blur, '-o', at('o.mp4')], 1, /notes\.txt/],
    [[at('gone.mp4'), ...blur, '-o', at('o.mp4')], 2, /gone\.mp4/],
    [[plain, ...blur, '-o', plain], 2, /Cannot write .*in\.mp4: it is read as an input/],
    [[plain, ...blur, '-o', at('o.avi')], 2, /--output takes a folder, or a file that ends in \.mp4/],
    [[plain, ...blur], 2, /--task blur needs --output/],
    [[at('clips'), ...blur, '-o', at('o.mp4')], 2, /clips is a folder: name its videos/],
    [[plain, '--model', at('notes.txt'), '-o', at('o.mp4')], 1, /notes\.txt/],
    [[plain, ...blur, '-o', at('nowhere', 'o.mp4')], 2, /nowhere/],
    [[plain, ...blur, '-o', at('o.mp4'), '--ffmpeg', at('nothing')], 1, /There is no program ffmpeg at .*nothing/],
    [[await clip('hdr'), ...blur, '-o', at('o.mp4')], 1, /high dynamic range/],
    [[await clip('sound-only'), ...blur, '-o', at('o.mp4')], 1, /sound-only/],
    [[plain, '--model', one, '--codec', 'h264'], 2, /--codec is of --output/],
    [[plain, ...blur, '-o', at('o.webm'), '--codec', 'h264'], 2, /h264/],
  ]
  for (const [args, code, stderr] of cases) {
    const run = await video(...args)
    t.match(run, { code, stdout: /^(No video was done\n)?$/, stderr }, args.join(' '))
    t.ok(run.stderr.split('\n').length < 12, run.stderr)
    t.notMatch(run.stderr, /\n +at /)
  }
  t.notOk(existsSync(at('o.mp4')))
  await certain(() => programsOfVideos().length === 0)
})
