interface Step {
  readonly index: number
  readonly model: string
}

/** A step as messages have it. */
export function stepText({ index, model }: Step): string {
  return `step ${index} (model '${model}')`
}

/**
 * A message that tells at its end which step it is about. What it quotes may end with a semicolon, as reasons of loads
 * do.
 */
export function withStep(message: string, step: Step): string {
  return `${message.replace(/[\s;:]+$/, '')}: ${stepText(step)}`
}
