// What a thread's console writes, line by line.
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** The most characters of a line; what is beyond is a line of its own. */
const longest = 8192

export function onLines(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  stream.on('data', (chunk: Buffer) => {
    const [last = '', ...lines] = (rest + decoder.write(chunk)).split('\n').reverse()
    rest = last
    for (const line of lines.reverse()) for (const piece of pieces(line)) onLine(piece)
    for (; rest.length > longest; rest = rest.slice(longest)) onLine(rest.slice(0, longest))
  })
  stream.on('end', () => {
    if (rest !== '') onLine(rest)
  })
}

function pieces(line: string): readonly string[] {
  const text = line.trimEnd()
  if (text === '') return []
  return text.match(/[^]{1,8192}/g) ?? []
}
