/**
 * Whose turn it is: the one that costs least, among equals the first that comes after the last one. What has no cost is
 * left out.
 * @returns its place in the list; -1 where nothing has a cost
 */
export function nextInTurn<T>(list: readonly T[], last: number, costOf: (element: T) => number | undefined): number {
  let [best, least] = [-1, Infinity]
  for (let step = 1; step <= list.length; step++) {
    const at = (last + step) % list.length
    const cost = costOf(list[at] as T)
    if (cost === undefined || cost >= least) continue
    best = at
    least = cost
  }
  return best
}
