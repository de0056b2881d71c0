/** What is said on the console meanwhile, by `console.warn`. */
export async function saidBy(call: () => Promise<unknown>): Promise<string[]> {
  const { warn } = console
  const lines: string[] = []
  console.warn = (line: string) => void lines.push(line)
  try {
    await call()
  } finally {
    console.warn = warn
  }
  return lines
}
