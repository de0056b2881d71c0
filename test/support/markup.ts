import { DOMParser, type Document, type Element } from '@xmldom/xmldom'

/** A page or drawing as an XML parser reads it. @throws where it is not well-formed */
export function parsedMarkup(markup: string): Document {
  const onError = (level: string, message: string): void => {
    throw new Error(`${level}: ${message}`)
  }
  return new DOMParser({ onError }).parseFromString(markup.replace(/^<!DOCTYPE html>\n/, ''), 'application/xhtml+xml')
}

export function elementsOf(root: Document | Element, tag: string, className?: string): Element[] {
  const found = [...root.getElementsByTagName(tag)]
  return className === undefined
    ? found
    : found.filter((element) => element.getAttribute('class')?.split(' ').includes(className))
}

/** Attributes that are numbers. */
export function numbersOf(element: Element, ...names: readonly string[]): number[] {
  return names.map((name) => Number(element.getAttribute(name)))
}
