/**
 * Lines of at most so many columns, cut at spaces. A word that is longer is cut where a line ends, or (`spaces`) stays
 * whole, as paths should that people copy.
 */
export function wrapped(text: string, width: number, where: 'anywhere' | 'spaces'): string {
  return text
    .split('\n')
    .flatMap((line) => (line.length <= width ? [line] : linesOf(line.split(' '), width, where)))
    .join('\n')
}

function linesOf(words: readonly string[], width: number, where: 'anywhere' | 'spaces'): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`
    if (longer.length <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = word
    if (where === 'spaces') continue
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width))
  }
  return [...lines, line]
}
