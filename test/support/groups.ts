import type { EngineOptions } from '../../lib/index.js'

/** Options over others, with the groups of both: those of `more` count where both have one. */
export function merged(options: EngineOptions, more: EngineOptions = {}): EngineOptions {
  return {
    ...options,
    ...more,
    ...((options.tensorrt ?? more.tensorrt) && { tensorrt: { ...options.tensorrt, ...more.tensorrt } }),
    ...((options.cpu ?? more.cpu) && { cpu: { ...options.cpu, ...more.cpu } }),
  }
}
