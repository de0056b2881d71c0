/** Returns the address of a page of docs/, which the package does not ship. */
export function guideUrl(page: string): string {
  return `https://github.com/node-tensorrt/node-tensorrt/blob/main/docs/${page}`
}
