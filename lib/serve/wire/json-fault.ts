// Why a text is not JSON, in the words of RapidJSON, which clients of Triton know. Runs only once JSON.parse has
// refused the text.

/** One message for a text that is not JSON. */
export function diagnosed(bytes: Uint8Array): string {
  const walk = new Walk(bytes)
  const { why, at } = walk.fault() ?? { why: 'Invalid encoding in string.', at: 0 }
  const advice = walk.endsInNaN ? adviceOfNaN : why === followed ? adviceOfTensors : ''
  return `failed to parse the request JSON buffer: ${why} at ${at}${advice}`
}

const followed = 'The document root must not be followed by other values.'
const adviceOfNaN = ' (NaN and Infinity are not JSON: send the tensor as binary)'
const adviceOfTensors =
  ' (where binary tensors follow, the header Inference-Header-Content-Length says how long the JSON is)'

interface Found {
  readonly why: string
  readonly at: number
}

/** A walk through the text with a stack of its own: nesting costs no call. */
class Walk {
  readonly #bytes: Uint8Array
  readonly #open: number[] = []
  #at = 0
  endsInNaN = false

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  fault(): Found | undefined {
    this.#space()
    if (this.#at >= this.#bytes.length) return this.#found('The document is empty.')
    for (;;) {
      const wrong = this.#value()
      if (wrong !== undefined) return wrong
      const end = this.#afterValue()
      if (end === 'done') return this.#end()
      if (end !== undefined) return end
    }
  }

  /** Reads up to the next scalar, opening what is around it; an empty array or object is a value, too. */
  #value(): Found | undefined {
    for (;;) {
      this.#space()
      const byte = this.#bytes[this.#at]
      if (byte !== 0x5b && byte !== 0x7b) return this.#scalar(byte)
      this.#at++
      this.#space()
      if (this.#bytes[this.#at] === byte + 2) {
        this.#at++
        return undefined
      }
      this.#open.push(byte)
      if (byte === 0x7b) {
        const wrong = this.#name()
        if (wrong !== undefined) return wrong
      }
    }
  }

  #name(): Found | undefined {
    this.#space()
    if (this.#bytes[this.#at] !== 0x22) return this.#found('Missing a name for object member.')
    const wrong = this.#string()
    if (wrong !== undefined) return wrong
    this.#space()
    if (this.#bytes[this.#at] !== 0x3a) return this.#found('Missing a colon after a name of object member.')
    this.#at++
    return undefined
  }

  #afterValue(): Found | 'done' | undefined {
    for (;;) {
      const around = this.#open.at(-1)
      if (around === undefined) return 'done'
      this.#space()
      const byte = this.#bytes[this.#at]
      if (byte === 0x2c) {
        this.#at++
        return around === 0x7b ? this.#name() : undefined
      }
      if (byte !== around + 2) return this.#found(around === 0x7b ? missingInObject : missingInArray)
      this.#at++
      this.#open.pop()
    }
  }

  #end(): Found | undefined {
    this.#space()
    return this.#at < this.#bytes.length ? this.#found(followed) : undefined
  }

  #scalar(byte: number | undefined): Found | undefined {
    if (byte === 0x22) return this.#string()
    if (byte === 0x2d || isDigit(byte)) return this.#number()
    for (const word of ['true', 'false', 'null']) if (byte === word.charCodeAt(0)) return this.#word(word)
    this.endsInNaN = byte === 0x4e || byte === 0x49
    return this.#found('Invalid value.')
  }

  #word(word: string): Found | undefined {
    for (const letter of word) {
      if (this.#bytes[this.#at] !== letter.charCodeAt(0)) return this.#found('Invalid value.')
      this.#at++
    }
    return undefined
  }

  #number(): Found | undefined {
    if (this.#bytes[this.#at] === 0x2d) this.#at++
    if (!isDigit(this.#bytes[this.#at])) {
      this.endsInNaN = this.#bytes[this.#at] === 0x49
      return this.#found('Invalid value.')
    }
    if (this.#bytes[this.#at] === 0x30) this.#at++
    else this.#digits()
    if (this.#bytes[this.#at] === 0x2e) {
      this.#at++
      if (!this.#digits()) return this.#found('Miss fraction part in number.')
    }
    if (this.#bytes[this.#at] === 0x65 || this.#bytes[this.#at] === 0x45) {
      this.#at++
      if (this.#bytes[this.#at] === 0x2b || this.#bytes[this.#at] === 0x2d) this.#at++
      if (!this.#digits()) return this.#found('Miss exponent in number.')
    }
    return undefined
  }

  #digits(): boolean {
    const start = this.#at
    while (isDigit(this.#bytes[this.#at])) this.#at++
    return this.#at > start
  }

  #string(): Found | undefined {
    const start = this.#at++
    for (;;) {
      const byte = this.#bytes[this.#at]
      if (byte === 0x22) {
        this.#at++
        return undefined
      }
      if (byte === undefined) return { why: 'Missing a closing quotation mark in string.', at: start }
      if (byte < 0x20) return this.#found('Invalid encoding in string.')
      if (byte === 0x5c) {
        const wrong = this.#escape()
        if (wrong !== undefined) return wrong
      } else this.#at++
    }
  }

  #escape(): Found | undefined {
    const start = this.#at
    const letter = String.fromCharCode(this.#bytes[start + 1] ?? 0)
    if (letter !== 'u') {
      if (!'"\\/bfnrt'.includes(letter)) return this.#found('Invalid escape character in string.')
      this.#at += 2
      return undefined
    }
    const digits = Buffer.from(this.#bytes.subarray(start + 2, start + 6)).toString('latin1')
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) return this.#found('Incorrect hex digit after \\u escape in string.')
    this.#at += 6
    return undefined
  }

  #space(): void {
    for (;;) {
      const byte = this.#bytes[this.#at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return
      this.#at++
    }
  }

  #found(why: string): Found {
    return { why, at: this.#at }
  }
}

const missingInObject = `Missing a comma or '}' after an object member.`
const missingInArray = `Missing a comma or ']' after an array element.`

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}
