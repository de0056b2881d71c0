import { fileURLToPath } from 'node:url'

/** Where the record lies: beside the source, not in dist/. */
export const sourceFolder = fileURLToPath(new URL('../../../../test/serve/recorded', import.meta.url))
