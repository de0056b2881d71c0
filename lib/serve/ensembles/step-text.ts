/** A step as messages have it. */
export function stepText({ index, model }: { readonly index: number; readonly model: string }): string {
  return `step ${index} (model '${model}')`
}
