// The part of docs/guides/errors.md that is about the codes.

export interface Section {
  /** Meaning, and when it comes. */
  readonly text: string
  readonly message: string
  readonly remedies: readonly string[]
}

/** By code, in the page's order. */
export function sectionsOf(page: string): ReadonlyMap<string, Section> {
  const parts = page.split(/^### (?=ERR_TRT_)/m).slice(1)
  return new Map(
    parts.map((part) => {
      const [, code = '', text = '', message = '', list = ''] =
        /^(\w+)\n\n(.*?)\n\n```text\n(.*?)\n```\n\n(.*?)(?=\n\n|$)/s.exec(part) ?? []
      const items = list.split(/^- /m).slice(1)
      return [
        code,
        {
          text: oneLine(text),
          message: oneLine(message),
          remedies: items.filter((item) => !/^\*\*Details\*\*/.test(item)).map(oneLine),
        },
      ]
    }),
  )
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ')
}
