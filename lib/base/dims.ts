/** Whether a shape is one of those that `dims` allows, in which -1 stands for any size. */
export function fitsDims(shape: readonly number[], dims: readonly number[]): boolean {
  return shape.length === dims.length && dims.every((dim, i) => dim < 0 || dim === shape[i])
}

/** Whether a shape lies within a range, which has as many sizes. */
export function isWithinRange(
  shape: readonly number[],
  { min, max }: { readonly min: readonly number[]; readonly max: readonly number[] },
): boolean {
  return shape.length === min.length && shape.every((size, i) => size >= min[i]! && size <= max[i]!)
}

/** A shape for people: "[1, 3, 224]". */
export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`
}
