#!/usr/bin/env node
import { basename } from 'node:path'
import { argv } from 'node:process'
import { Command } from 'commander'
import { packageVersion } from '../base/package.js'
import { TensorRTError } from '../errors.js'
import { doctor } from './doctor.js'

const name = basename(argv[1] ?? 'trt', '.js')

/** The command line: each command in a file of its own. Its name is the one it was called by, `trt` or `node-tensorrt`. */
function program(): Command {
  const trt = new Command(name).description('NVIDIA TensorRT from Node.js').version(packageVersion())
  trt
    .command('doctor')
    .description('say what this machine has, what it can do, and what mends what is missing')
    .option('--tensorrt <path>', 'look at this TensorRT library or folder only')
    .option('--json', 'print JSON')
    .action(doctor)
  return trt
}

program()
  .parseAsync()
  .catch((error: unknown) => {
    if (!(error instanceof TensorRTError)) throw error
    process.stderr.write(`${name}: ${error.message} (${error.code})\n`)
    process.exitCode = 1
  })
