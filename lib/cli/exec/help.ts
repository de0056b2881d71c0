import { wrapped } from '../output/wrap.js'
import { type ExecOption, statusOf } from './option.js'
import { execOptions } from './parse.js'

/** All options, with the versions of trtexec that have them and what becomes of them. */
export function helpText(name: string, width: number): string {
  const groups = (['mapped', 'noted', 'refused'] as const).map((status) => {
    const options = execOptions.filter((option) => statusOf(option) === status)
    return `${heads[status]}\n${options.map((option) => optionText(option, width)).join('\n')}`
  })
  return [
    `Usage: ${name} exec --onnx=FILE [options], or ${name} exec --loadEngine=FILE [options]`,
    `Takes trtexec's own options, of TensorRT 7 to 11: --name, or --name=value.`,
    ...groups,
    `Example:\n  ${name} exec --onnx=model.onnx --saveEngine=model.plan --minShapes=input:1x3x224x224 --optShapes=input:8x3x224x224 --maxShapes=input:32x3x224x224 --fp16`,
  ].join('\n\n')
}

const heads = {
  mapped: 'Options (with the versions whose trtexec has them, and what they are here):',
  noted: 'Options that have no effect any more, and say so:',
  refused: "Options that are trtexec's alone, and an error here:",
}

const indent = ' '.repeat(6)

function optionText({ name, aliases = [], value, versions, becomes }: ExecOption, width: number): string {
  const spelled = [name, ...aliases].map((each) => (value === undefined ? each : `${each}=${value}`)).join(', ')
  const meaning = wrapped(`${versions === 'here' ? 'ours' : versions}: ${becomes}`, width - indent.length, 'spaces')
  return `  ${spelled}\n${indent}${meaning.replaceAll('\n', `\n${indent}`)}`
}
