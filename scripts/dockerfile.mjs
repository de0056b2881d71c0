// @ts-check
// A Dockerfile as a list of steps, for test-machine.mjs: what those of docker/ have, and no more.
import { DockerfileParser } from 'dockerfile-ast'
import { Failure } from './support.mjs'

/**
 * @typedef {object} Step
 * @property {string} keyword
 * @property {string} text its arguments, with variables as they are written
 * @property {string[]} words the same without flags, apart
 * @property {Record<string, string>} flags of COPY
 * @property {string[] | undefined} list where it is written as one
 *
 * @typedef {object} Stage
 * @property {string} image
 * @property {string} name
 * @property {Step[]} steps
 */

const known = ['ARG', 'CMD', 'COPY', 'ENV', 'EXPOSE', 'HEALTHCHECK', 'RUN', 'USER', 'VOLUME', 'WORKDIR']

/** A list of strings, which is JSON; after HEALTHCHECK's word CMD, too. */
const listOf = (/** @type {string} */ text) => {
  const json = text.replace(/^CMD\s+/, '')
  return json.startsWith('[') ? /** @type {string[]} */ (JSON.parse(json)) : undefined
}

/**
 * @param {string} content
 * @returns {{ args: Step[], stages: Stage[] }} what stands before the first stage, and the stages
 */
export const readDockerfile = (content) => {
  /** @type {Step[]} */
  const args = []
  /** @type {Stage[]} */
  const stages = []
  for (const instruction of DockerfileParser.parse(content).getInstructions()) {
    const keyword = instruction.getKeyword()
    const words = instruction.getArguments().map((word) => word.getValue())
    if (keyword === 'FROM') {
      const [image = '', , name = ''] = words
      stages.push({ image, name, steps: [] })
      continue
    }
    if (!known.includes(keyword)) throw new Failure(`${keyword} is not known here`)
    const all =
      /** @type {{ getFlags?: () => { getName(): string, getValue(): string | null }[] }} */ (
        instruction
      ).getFlags?.() ?? []
    const flags = Object.fromEntries(all.map((flag) => [flag.getName(), flag.getValue() ?? '']))
    const text = instruction.getRawArgumentsContent() ?? ''
    const step = { keyword, text, words, flags, list: listOf(text) }
    const last = stages.at(-1)
    if (last) last.steps.push(step)
    else args.push(step)
  }
  return { args, stages }
}

/** `$NAME` and `${NAME}` by their values; one that is not known is empty, as docker has it. */
export const expanded = (/** @type {string} */ text, /** @type {Record<string, string>} */ values) =>
  text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced, bare) => values[braced ?? bare] ?? '')
