import type { Command } from 'commander'
import type { EngineOptions } from '../../engine/options.js'
import { choice, whole } from '../parsing.js'

export interface EngineGiven {
  readonly backend?: 'auto' | 'tensorrt' | 'cpu' | undefined
  readonly device?: number | undefined
  readonly tensorrt?: string | undefined
  readonly threads?: number | undefined
}

/** Gives a command the options that say what runs a model. */
export function withEngineOptions(command: Command): Command {
  return withBackendOptions(command)
    .option('--device <N>', 'the number of the GPU', whole(0))
    .option('--tensorrt <PATH>', 'a TensorRT library, or the folder that has it')
}

/** Those of them that building has not, too. */
export function withBackendOptions(command: Command): Command {
  return command
    .addOption(
      choice('--backend <NAME>', 'what runs the model; auto: a GPU where it can, else the CPU', [
        'auto',
        'tensorrt',
        'cpu',
      ]),
    )
    .option('--threads <N>', 'how many threads an inference on the CPU has', whole(1))
}

/** The same, as {@link Engine.load} takes it. */
export function engineOptions({ backend, device, tensorrt, threads }: EngineGiven): EngineOptions {
  return {
    backend,
    device,
    tensorrt,
    threads,
  }
}
