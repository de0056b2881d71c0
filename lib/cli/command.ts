import type { Command } from 'commander'
import type { Session } from './session.js'
import type { CommandName } from './summaries.js'

/** What the file of a command has. Only what is about all commands takes the others. */
export interface CommandFile {
  readonly command: (session: Session, all: CommandFiles) => Command
}

export type CommandFiles = Readonly<Record<CommandName, () => Promise<CommandFile>>>
