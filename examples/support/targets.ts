import { basename, extname, join } from 'node:path'
import { fileNames } from '../../lib/tensor-files/write.js'

/** A file in `folder` for each photo, called as it is; no two alike, so that none overwrites another. */
export function targetsFor(photos: readonly string[], suffix: string, folder: string): string[] {
  return fileNames(photos.map((photo) => basename(photo, extname(photo)))).map((name) =>
    join(folder, `${name}-${suffix}`),
  )
}
