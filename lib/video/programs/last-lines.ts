import { withoutCredentials } from './credentials.js'

const keptLines = 20
const keptCharacters = 500

/**
 * The last lines that a program wrote, for errors: without passwords of URLs, and without addresses of memory, which
 * differ each time.
 */
export class LastLines {
  readonly #lines: string[] = []
  /** What came since the last end of a line; of a line without an end, only its beginning is kept. */
  #rest = ''

  add(text: string): void {
    const pieces = (this.#rest + text).split(/\r\n|\n|\r/)
    this.#rest = (pieces.pop() ?? '').slice(0, 4 * keptCharacters)
    for (const line of pieces) this.#keep(line)
  }

  /** Oldest first. */
  get lines(): readonly string[] {
    const rest = cleaned(this.#rest)
    return rest === '' ? [...this.#lines] : [...this.#lines, rest].slice(-keptLines)
  }

  #keep(line: string): void {
    const text = cleaned(line)
    if (text === '') return
    this.#lines.push(text)
    if (this.#lines.length > keptLines) this.#lines.shift()
  }
}

/** "[mov,mp4 @ 0x55d0c0] [error] moov atom not found" → "[mov,mp4] [error] moov atom not found" */
function cleaned(line: string): string {
  const text = withoutCredentials(line.replace(/ @ 0x[0-9a-f]+\]/gi, ']')).trim()
  return text.length > keptCharacters ? `${text.slice(0, keptCharacters - 3)}...` : text
}
