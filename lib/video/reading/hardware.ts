import { runProgram } from '../programs/run.js'
import { quietly } from '../programs/start.js'

/** What decodes a video. */
export interface VideoDecoder {
  /**
   * `cuda`: ffmpeg was asked to decode on the GPU, and has one; what the GPU cannot decode it decodes on the processor,
   * all the same.
   */
  readonly hardware: 'none' | 'cuda'
  /** Why it is not the hardware that was asked for. */
  readonly reason: string | undefined
}

/**
 * What ffmpeg has of it, which it is asked by name: by itself it would go on without a word. @throws the signal's
 * reason
 */
export async function decoderFor(
  hardware: 'none' | 'cuda',
  ffmpeg: string,
  signal: AbortSignal | undefined,
): Promise<VideoDecoder> {
  if (hardware === 'none') return { hardware, reason: undefined }
  const nothing = ['-f', 'lavfi', '-i', 'color=size=16x16', '-frames:v', '1', '-f', 'null', '-']
  const { exit, lines } = await runProgram(ffmpeg, [...quietly, '-init_hw_device', hardware, ...nothing], {
    signal,
    mostBytes: 65_536,
  })
  if (exit.code === 0) return { hardware, reason: undefined }
  const said =
    lines.find((line) => /\[(error|fatal)\]/.test(line)) ?? lines[0] ?? `it ended with exit code ${exit.code}`
  return { hardware: 'none', reason: `ffmpeg has no ${hardware} here: ${said}` }
}
