// `trt` on a terminal: a process of its own on a pseudo-terminal, the keys that are pressed, and what its screen shows.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../../lib/base/package.js'

export interface OnTerminal {
  /** What it ended with; undefined where it had to be ended, which means that it hangs. */
  readonly code: number | undefined
  /** All that was written to the terminal. */
  readonly written: string
  /** What stands there in the end. */
  readonly screen: Screen
}

/** After so long a command hangs: none of these tests computes a tenth as long. */
const patienceMs = 60_000

/** Runs `trt` on a terminal; when it has written this, these keys are pressed. */
export function onTerminal(
  args: readonly string[],
  keys?: { readonly at: RegExp; readonly press: string },
): Promise<OnTerminal> {
  const command = [process.execPath, join(packageRoot(), 'dist/lib/cli/trt.js'), ...args]
  const { NO_COLOR: _plain, FORCE_COLOR: _forced, NODE_OPTIONS: _hooks, ...inherited } = process.env
  const env = { ...inherited, TERM: 'xterm-256color', LANG: 'C.UTF-8' }
  const terminal = spawn('python3', [join(packageRoot(), 'test/cli/terminal.py'), ...command], { env, stdio: 'pipe' })
  let [written, told, waiting, hangs] = ['', '', keys, false]
  const guard = setTimeout(() => {
    hangs = true
    terminal.kill('SIGTERM')
  }, patienceMs)
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text
    if (waiting?.at.test(written) === true) {
      terminal.stdin.write(waiting.press)
      waiting = undefined
    }
  })
  terminal.stderr.setEncoding('utf8').on('data', (text: string) => (told += text))
  terminal.stdin.on('error', () => {})
  return new Promise((resolve, reject) => {
    terminal.once('error', reject)
    terminal.once('close', () => {
      clearTimeout(guard)
      const [, code] = /^exit (-?\d+)$/m.exec(told) ?? []
      if (code === undefined && !hangs) reject(new Error(`terminal.py: ${told}`))
      else resolve({ code: code === undefined ? undefined : Number(code), written, screen: new Screen(written) })
    })
  })
}

// eslint-disable-next-line no-control-regex -- terminals are spoken to in control characters
const words = /\u001b\[(\??)([\d;]*)([A-Za-z])|\u001b([78])|[\r\n]|[^\u001b\r\n]+/gy

/** What a terminal makes of what is written to it; control characters that `trt` does not use are an error. */
export class Screen {
  readonly #lines: string[][] = [[]]
  /** Lines that go on in the next one. */
  readonly #goOn = new Set<number>()
  #row = 0
  #column = 0
  #saved: readonly [row: number, column: number] = [0, 0]
  #wraps = true
  #showsCursor = true

  constructor(written: string) {
    words.lastIndex = 0
    while (words.lastIndex < written.length) {
      const from = words.lastIndex
      const word = words.exec(written)
      if (word === null)
        throw new Error(`nobody knows what a terminal makes of ${JSON.stringify(written.slice(from, from + 20))}`)
      const [all, mark, parameter = '', letter, saving] = word
      if (letter !== undefined) this.#control(`${mark}${letter}`, parameter)
      else if (saving === '7') this.#saved = [this.#row, this.#column]
      else if (saving === '8') [this.#row, this.#column] = this.#saved
      else if (all === '\r') this.#column = 0
      else if (all === '\n') this.#down()
      else for (const letter of all) this.#put(letter)
    }
  }

  /** As it would be copied: wrapped lines are one, without spaces at their end and empty lines at the last. */
  get text(): string {
    const lines = this.#lines.map((line, row) => {
      const text = Array.from(line, (letter) => letter ?? ' ').join('')
      return this.#goOn.has(row) ? text : `${text.trimEnd()}\n`
    })
    return lines.join('').trimEnd()
  }

  /** How it was left for whoever comes next. */
  get left(): { readonly cursor: boolean; readonly wraps: boolean; readonly column: number } {
    return { cursor: this.#showsCursor, wraps: this.#wraps, column: this.#column }
  }

  #control(what: string, parameter: string): void {
    const line = this.#lines[this.#row] as string[]
    if (what === 'm') return // colours
    if (what === '?h' || what === '?l') this.#mode(parameter, what === '?h')
    else if (what === 'G') this.#column = Number(parameter || 1) - 1
    else if (what === 'K' && (parameter === '2' || Number(parameter) === 0)) {
      line.length = parameter === '2' ? 0 : Math.min(line.length, this.#column)
      this.#goOn.delete(this.#row)
    } else throw new Error(`nobody knows what a terminal makes of CSI ${parameter}${what}`)
  }

  #mode(parameter: string, isOn: boolean): void {
    if (parameter === '25') this.#showsCursor = isOn
    else if (parameter === '7') this.#wraps = isOn
    else throw new Error(`nobody knows the mode ${parameter} of a terminal`)
  }

  #down(): void {
    this.#row++
    this.#lines[this.#row] ??= []
  }

  #put(letter: string): void {
    if (this.#column === 80 && this.#wraps) {
      this.#goOn.add(this.#row)
      this.#down()
      this.#column = 0
    }
    const line = this.#lines[this.#row] as string[]
    line[Math.min(this.#column, 79)] = letter
    this.#column = Math.min(this.#column + 1, 80)
  }
}
