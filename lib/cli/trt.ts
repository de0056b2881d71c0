#!/usr/bin/env node
// Only built-ins are imported here: on a Node that is too old, other modules do not even link.
import { exit, stderr } from 'node:process'

try {
  await import('../disposal.js')
} catch (error) {
  stderr.write(`error: ${(error as Error).message}\n`)
  exit(1)
}
await import('./main.js')

export {}
