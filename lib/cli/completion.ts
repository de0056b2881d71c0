/** The shells that a script is made for. */
export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** A command as a shell completes it. */
export interface ShellCommand {
  readonly name: string
  readonly summary: string
  readonly options: readonly ShellOption[]
  /** Words that may follow it: its own commands, or what its argument may be. */
  readonly words: readonly string[]
}

export interface ShellOption {
  /** `--fp16` */
  readonly name: string
  readonly summary: string
  /** What its value may be, where that is a list. */
  readonly choices: readonly string[]
}

/** A script that completes `name` and its commands; what it does not know, the shell completes as files. */
export function completionScript(shell: Shell, name: string, commands: readonly ShellCommand[]): string {
  return { bash, zsh, fish }[shell](name, commands)
}

function bash(name: string, commands: readonly ShellCommand[]): string {
  const cases = commands.map((command) => {
    const choices = command.options.filter((option) => option.choices.length > 0)
    const values = choices.map(
      (option) => `      ${option.name}) words=${quoted(option.choices.join(' '))}; value=1 ;;`,
    )
    const words = [...command.words, ...command.options.map((option) => option.name)].join(' ')
    return [
      `    ${command.name})`,
      `      words=${quoted(words)}`,
      ...(values.length > 0 ? ['      case "$previous" in', ...values.map((line) => `  ${line}`), '      esac'] : []),
      '      ;;',
    ].join('\n')
  })
  const own = identifier(name)
  return `# bash completion for ${name}
_${own}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words="" value="" file=""
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words=${quoted(commands.map((command) => command.name).join(' '))}; fi
  COMPREPLY=()
  if [ -n "$value" ] || [ "$COMP_CWORD" -eq 1 ] || [ "\${current:0:1}" = "-" ] || [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
  if [ -z "$value" ] && [ "$COMP_CWORD" -gt 1 ] && [ "\${current:0:1}" != "-" ]; then
    # a line each: names may have spaces
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _${own} ${name}
`
}

function zsh(name: string, commands: readonly ShellCommand[]): string {
  const own = identifier(name)
  const cases = commands.map((command) => {
    const options = command.options.map((option) => {
      const value = option.choices.length > 0 ? `:value:(${option.choices.join(' ')})` : ''
      return `        ${quoted(`*${option.name}[${bracketed(option.summary)}]${value}`)} \\`
    })
    const words = command.words.length > 0 ? `        ${quoted(`1:word:(${command.words.join(' ')})`)} \\\n` : ''
    return `    ${command.name})\n      _arguments \\\n${options.join('\n')}\n${words}        '*:file:_files'\n      ;;`
  })
  const described = commands.map(
    (command) => `    ${quoted(`${command.name}:${command.summary.replaceAll(':', '\\:')}`)}`,
  )
  return `#compdef ${name}
_${own}() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local called="\${words[2]}"
  shift words
  (( CURRENT-- ))
  case "$called" in
${cases.join('\n')}
  esac
}
compdef _${own} ${name}
`
}

function fish(name: string, commands: readonly ShellCommand[]): string {
  const lines = commands.flatMap((command) => {
    const only = quoted(`__fish_seen_subcommand_from ${command.name}`)
    return [
      `complete -c ${name} -n __fish_use_subcommand -f -a ${command.name} -d ${quoted(command.summary)}`,
      ...(command.words.length > 0 ? [`complete -c ${name} -n ${only} -a ${quoted(command.words.join(' '))}`] : []),
      ...command.options.map((option) => {
        const value = option.choices.length > 0 ? ` -x -a ${quoted(option.choices.join(' '))}` : ''
        return `complete -c ${name} -n ${only} -l ${option.name.slice(2)}${value} -d ${quoted(option.summary)}`
      }),
    ]
  })
  return `# fish completion for ${name}\n${lines.join('\n')}\n`
}

/** For a function of the shell's. */
function identifier(name: string): string {
  return name.replaceAll(/\W/g, '_')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function bracketed(text: string): string {
  return text.replaceAll(/[[\]:]/g, (character) => `\\${character}`)
}
