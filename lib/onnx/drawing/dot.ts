import type { Arrow, Box, DrawnGraph } from './graph.js'
import { boxColours } from './colours.js'

/**
 * A graph in the language of Graphviz.
 * @see https://graphviz.org/doc/info/lang.html
 */
export function dotOf({ title, boxes, arrows }: DrawnGraph): string {
  return [
    `digraph ${quoted(title)} {`,
    '  graph [rankdir=TB, fontname="Helvetica"]',
    '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11]',
    '  edge [fontname="Helvetica", fontsize=9, color="#5b6876"]',
    ...boxes.map(boxLine),
    ...arrows.map(arrowLine),
    '}\n',
  ].join('\n')
}

function boxLine({ id, kind, title, lines, hint }: Box): string {
  const { fill, edge } = boxColours[kind]
  return `  ${quoted(id)} [label=${quoted([title, ...lines].join('\n'))}, tooltip=${quoted(hint)}, fillcolor="${fill}", color="${edge}"]`
}

function arrowLine({ from, to, label, isInner }: Arrow): string {
  const words = label === '' ? [] : [`label=${quoted(label)}`]
  const attributes = isInner === true ? [...words, 'style=dashed'] : words
  return `  ${quoted(from)} -> ${quoted(to)}${attributes.length === 0 ? '' : ` [${attributes.join(', ')}]`}`
}

/** Within quotes a backslash begins an escape, such as the one of a new line. */
function quoted(text: string): string {
  return `"${text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll(/\p{Cc}/gu, '?')}"`
}
