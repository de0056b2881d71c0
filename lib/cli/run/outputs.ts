import type { Files } from '../output/writable.js'
import type { RunGiven } from './given.js'
import type { RunJob } from './job.js'
import { drawnPaths } from './pictures.js'
import { pathsIn, type Target } from './target.js'
import { isFolderOfFiles } from './tensors.js'

/**
 * What `trt run` reads, and what it writes as far as that is known before the model is opened: of one inference the
 * files in a folder are called as the outputs are.
 */
export function filesOfRun(model: string, given: RunGiven, job: RunJob): Files {
  const { labels, preset, force } = given
  const named = 'named' in job ? job.named.map(({ file }) => file) : []
  const texts = [labels, preset?.endsWith('.json') === true ? preset : undefined]
  const read = { models: [model], inputs: [...job.files, ...named, ...texts], force }
  const { target } = job
  if (target?.kind === 'folder') return { ...read, folder: target.path, inFolder: pathsOf(job, target) }
  return { ...read, outputs: [target?.path] }
}

function pathsOf(job: RunJob, target: Target): readonly string[] {
  if ('task' in job) return drawnPaths(job.task, job.files, target, job.given) ?? []
  const { files, format = 'npy' } = job
  return isFolderOfFiles(job) ? pathsIn(target.path, files, () => `.${format}`) : []
}
