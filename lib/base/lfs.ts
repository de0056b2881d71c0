/**
 * How the file begins that Git leaves in place of one that Git LFS keeps, until it is fetched. @see
 * https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
 */
const start = 'version https://git-lfs.'

/** For messages about such a file, or its bytes. */
export const lfsPointer = 'a Git LFS pointer, and not the file itself, which was not fetched: git lfs pull'

export function isLfsPointer(head: Uint8Array): boolean {
  return String.fromCharCode(...head.subarray(0, start.length)) === start
}
