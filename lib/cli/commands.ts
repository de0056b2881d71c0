import type { CommandFiles } from './command.js'

/** The file of each command: it is loaded when the command is called, so that the others cost nothing. */
export const commandFiles: CommandFiles = {
  build: () => import('./commands/build.js'),
  run: () => import('./commands/run.js'),
  video: () => import('./commands/video.js'),
  bench: () => import('./commands/bench.js'),
  exec: () => import('./commands/exec.js'),
  serve: () => import('./commands/serve.js'),
  convert: () => import('./commands/convert.js'),
  quantize: () => import('./commands/quantize.js'),
  compare: () => import('./commands/compare.js'),
  inspect: () => import('./commands/inspect.js'),
  audit: () => import('./commands/audit.js'),
  cache: () => import('./commands/cache.js'),
  doctor: () => import('./commands/doctor.js'),
  completion: () => import('./commands/completion.js'),
}
