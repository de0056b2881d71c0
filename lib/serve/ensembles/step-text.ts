import type { GraphStep } from './graph.js'

/** A step as messages have it. */
export function stepText({ index, model }: Pick<GraphStep, 'index' | 'model'>): string {
  return `step ${index} (model '${model}')`
}
