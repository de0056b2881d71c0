import { wrapped } from '../output/format.js'
import { meanings } from './meanings.js'
import { type ExecOption, statusOf } from './option.js'
import { execOptions } from './parse.js'

/** All options in trtexec's groups: what each means, the versions of trtexec that have it, and what becomes of it. */
export function helpText(name: string, width: number): string {
  const byName = new Map(execOptions.map((option) => [option.name, option]))
  const groups = Object.entries<Readonly<Record<string, string>>>(meanings).map(([head, rows]) => {
    const lines = Object.entries(rows).map(([names, meaning]) =>
      rowText(
        names.split(' ').flatMap((each) => byName.get(each) ?? []),
        meaning,
        width,
      ),
    )
    return `=== ${head} ===\n${lines.join('\n')}`
  })
  return [
    `Usage: ${name} exec --onnx=FILE [options], or ${name} exec --loadEngine=FILE [options]`,
    wrapped(legend, width, 'spaces'),
    ...groups,
    `Example:\n  ${name} exec --onnx=model.onnx --saveEngine=model.plan --minShapes=input:1x3x224x224 --optShapes=input:8x3x224x224 --maxShapes=input:32x3x224x224 --fp16`,
  ].join('\n\n')
}

const legend =
  "Takes trtexec's own options, of TensorRT 7 to 11: --name, or --name=value. Before each meaning stand the versions whose trtexec has the option; [ours]: trtexec has none; [no effect]: it is taken, and says so; [not here]: it is an error that says what to do instead. After the arrow: what it is in this package."

const indent = ' '.repeat(6)

/** Options that go together. */
function rowText(options: readonly ExecOption[], meaning: string, width: number): string {
  const [first] = options
  const spelled = options.map(({ name, aliases = [], value }) =>
    [name, ...aliases].map((each) => (value === undefined ? each : `${each}=${value}`)).join(', '),
  )
  const text = wrapped(`${markOf(first!)}${meaning} -> ${first!.becomes}`, width - indent.length, 'spaces')
  return [...spelled.map((each) => `  ${each}`), `${indent}${text.replaceAll('\n', `\n${indent}`)}`].join('\n')
}

function markOf(option: ExecOption): string {
  if (option.versions === 'here') return '[ours] '
  const mark = { mapped: '', noted: '[no effect] ', refused: '[not here] ' }[statusOf(option)]
  return `${option.versions}: ${mark}`
}
