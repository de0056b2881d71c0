import { exitCodes } from '../exit-codes.js'
import { plural } from '../../benchmark/report/numbers.js'
import type { Files } from '../output/writable.js'
import type { Session } from '../session.js'
import type { RunFlags } from './flags.js'
import type { RunJob } from './job.js'
import { drawnPaths } from './pictures.js'
import { presetFileOf } from './preset.js'
import { pathsIn, type Target } from './target.js'
import { isFolderOfFiles } from './tensors.js'

/**
 * What `trt run` reads, and what it writes as far as that is known before the model is opened: of one inference the
 * files in a folder are called as the outputs are.
 */
export function filesOfRun(model: string, flags: RunFlags, job: RunJob): Files {
  const named = 'named' in job ? job.named.map(({ file }) => file) : []
  const paths = (target: Target): readonly string[] => {
    if ('task' in job) return drawnPaths(job.task, job.files, target, job.flags) ?? []
    const { files, format = 'npy' } = job
    return isFolderOfFiles(job) ? pathsIn(target.path, files, () => `.${format}`) : []
  }
  return filesOf({ ...flags, model }, job.files, job.target, paths, named)
}

/** What a task reads beside its sources, and what it writes: in a folder these paths. */
export function filesOf(
  flags: Pick<RunFlags, 'labels' | 'preset' | 'force'> & { readonly model: string },
  sources: readonly string[],
  target: Target | undefined,
  pathsIn: (folder: Target) => readonly string[],
  named: readonly string[] = [],
): Files {
  const { model, labels, preset, force } = flags
  const read = { models: [model], inputs: [...sources, labels], needed: [...named, presetFileOf(preset)], force }
  if (target?.kind === 'folder') return { ...read, folder: target.path, inFolder: pathsIn(target) }
  return { ...read, outputs: [target?.path] }
}

/** What a task on `what` exits with: some failed, or nothing was found where `--require-found` wants something. */
export function exitCodeOf(
  session: Session,
  { requireFound }: Pick<RunFlags, 'requireFound'>,
  found: { readonly results: readonly unknown[]; readonly failed: readonly unknown[]; readonly without: number },
  what: string,
): number {
  if (found.failed.length > 0) return exitCodes.failed
  if (!requireFound || found.without === 0) return exitCodes.done
  const all = plural(found.results.length, what)
  session.warn(`Nothing was found in ${found.without} of ${all}, and --require-found was given`)
  return exitCodes.unmet
}
