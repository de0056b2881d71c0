import type { Capabilities, RunCheck, TensorRTLibrary } from '../../capabilities.js'
import { TensorRTError } from '../../errors.js'
import { newCommand } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { bytesText } from '../output/format.js'
import type { Session } from '../session.js'

type Ability = keyof typeof abilities

/** What can be demanded, and whether it is there. */
const abilities = {
  gpu: ({ tensorrt, gpus }: Capabilities) => gpus.length > 0 && tensorrt.some(({ canRun }) => canRun),
  build: ({ tensorrt }: Capabilities) => tensorrt.some(({ canBuild }) => canBuild),
  cpu: ({ cpu }: Capabilities) => cpu.available,
  run: ({ run }: Capabilities) => run?.works === true,
} as const

/** What the demand is about, for people. */
const meanings: Readonly<Record<Ability, string>> = {
  gpu: 'a GPU and a TensorRT that runs plans on it',
  build: 'a TensorRT that builds plans',
  cpu: 'onnxruntime, for the CPU',
  run: 'what runs ONNX, on a GPU or the CPU',
}

/**
 * `trt doctor`: exits with 0 whatever it finds, since what is missing is an answer; with 3 where that was demanded.
 * With `--require run` it is a health check of a container.
 */
export const command = newCommand('doctor', {
  example: '--require build',
  flags: {
    '--tensorrt <PATH>': 'look at this TensorRT library or folder only',
    '--require <WHAT...>': ['exit with 3 unless the machine has it', Object.keys(abilities) as Ability[]],
  },
  run: async ({ flags: { tensorrt, require = [] }, session }) => {
    const { capabilities } = await import('../../capabilities.js')
    const [machine, video] = await Promise.all([
      capabilities({ run: true, tensorrt: { library: tensorrt } }),
      videoPrograms(),
    ])
    const found = { ...machine, video, missing: [...machine.missing, ...withoutVideo(video)] }
    session.result(found, () => report(session, found))
    const lacking = require.filter((each) => !abilities[each](found))
    for (const each of lacking) {
      const why = each === 'run' ? found.run?.error : undefined
      session.warn(`required, and not here: ${meanings[each]}${why === undefined ? '' : `: ${why}`}`)
    }
    return lacking.length > 0 ? exitCodes.unmet : exitCodes.done
  },
})

/** The programs that read and write videos, or why there are none. */
type VideoPrograms =
  | { readonly available: true; readonly version: string; readonly ffmpeg: string; readonly ffprobe: string }
  | { readonly available: false; readonly error: string; readonly remedy: string }

async function videoPrograms(): Promise<VideoPrograms> {
  const { findPrograms } = await import('../../video/programs/find.js')
  try {
    return { available: true, ...(await findPrograms()) }
  } catch (error) {
    if (!(error instanceof TensorRTError)) throw error
    return {
      available: false,
      error: error.message.replace(/\. What to do: .*/s, ''),
      remedy: String(error.details['remedy']),
    }
  }
}

function withoutVideo(video: VideoPrograms): Capabilities['missing'] {
  return video.available
    ? []
    : [{ what: 'ffmpeg and ffprobe', for: 'reading and writing videos', remedy: video.remedy }]
}

function report(session: Session, found: Capabilities & { readonly video: VideoPrograms }): string {
  const { platform, addon, driver, gpus, cpu, pictures, video, run } = found
  const ofDriver = driver.found
    ? `CUDA ${driver.cuda ?? '?'}, ${driver.path ?? ''}${driver.error ? `: ${driver.error}` : ''}`
    : (driver.error ?? 'none')
  const ofGpus = gpus.map((gpu): [string, string] => [
    `GPU ${gpu.index}`,
    `${gpu.name}, compute capability ${gpu.computeCapability}, ${bytesText(gpu.memory)}`,
  ])
  const fields = session.fields([
    ['system', `Node ${platform.node}, ${platform.os} ${platform.arch}`],
    ['addon', addon.loaded ? 'loaded' : `not loaded: ${addon.error ?? ''}`],
    ['driver', ofDriver],
    ...(ofGpus.length === 0 ? [['GPUs', 'none'] as const] : ofGpus),
    ['CPU backend', onCpu(cpu)],
    ['pictures', pictures.available ? `sharp ${pictures.version ?? ''}` : 'sharp is not installed'],
    ['videos', video.available ? `ffmpeg ${video.version}, ${video.ffmpeg}` : video.error],
    ...(run === undefined ? [] : running(run)),
  ])
  return `${fields}\n\n${libraries(session, found.tensorrt)}\n${advice(found)}`
}

function onCpu({ available, version, path }: Capabilities['cpu']): string {
  if (!available) return 'not installed'
  const name = version === undefined ? 'onnxruntime' : `onnxruntime-node ${version}`
  return path === undefined ? `${name}, in a worker: the addon is not loaded` : `${name}, ${path}`
}

/** What an Engine of ONNX takes here, and why. */
function running({ works, backend, on, reason, error }: RunCheck): [string, string][] {
  const tried = backend === 'tensorrt' ? 'loaded, nothing was built' : 'a model of one node ran'
  const outcome = works ? `on ${on ?? ''} (${tried})` : `on nothing: ${error ?? ''}`
  return [['ONNX runs', outcome], ...(reason === undefined ? [] : [['why the CPU', reason] as [string, string]])]
}

/** Paths and reasons stand under the table: they are long, and people copy them. */
function libraries(session: Session, list: readonly TensorRTLibrary[]): string {
  if (list.length === 0) return 'No TensorRT library was found.\n'
  const mark = (yes: boolean): string => (yes ? 'yes' : 'no')
  const rows = list.map(({ version, kind, canBuild, canRun, foundBy }) => [
    version ?? '?',
    kind ?? '?',
    mark(canBuild),
    mark(canRun),
    foundBy,
  ])
  const lines = list.flatMap(({ version, path, error, cannotBuild, cannotRun }) => [
    `${version ?? '?'}: ${path}`,
    ...[error, cannotBuild, cannotRun].filter((line) => line !== undefined).map((line) => `  ${line}`),
  ])
  return `${session.table(['TensorRT', 'kind', 'builds', 'runs', 'found by'], rows)}\n\n${lines.join('\n')}\n`
}

function advice({ missing }: Capabilities): string {
  if (missing.length === 0) return 'Nothing is missing.'
  return `Missing:\n${missing.map(({ what, for: use, remedy }) => `- ${what}, for ${use}\n  → ${remedy}`).join('\n')}`
}
