/** What `trt` exits with; `trt exec` has trtexec's: 0 and 1. */
export const exitCodes = {
  done: 0,
  /** An error, whose code and message are on stderr. */
  failed: 1,
  /** The command line is wrong, or a file that it names is: nothing was begun. */
  usage: 2,
  /**
   * What was demanded does not hold: `doctor --require`, `compare` beyond its tolerance, `audit --expect`,
   * `inspect --for`.
   */
  unmet: 3,
  /** SIGHUP, as of a closed terminal. As in a shell, the code of a signal is 128 and its number. */
  hungUp: 129,
  /** Ctrl-C. */
  interrupted: 130,
  terminated: 143,
} as const

/** For `--help`. */
export const exitCodesHelp =
  'Exit codes: 0 done; 1 failed, with the reason on stderr; 2 the command line is wrong, or a file that it names: nothing was begun; 3 what was demanded does not hold; 129, 130 and 143 ended by SIGHUP, ctrl-C and SIGTERM.'
