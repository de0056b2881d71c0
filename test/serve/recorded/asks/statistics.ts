// Counters, after all that was asked before.
import type { Ask } from '../ask.js'
import { get } from './make.js'

const names = [
  'batched',
  'two',
  'classes',
  'reshaped',
  'full',
  'rejects',
  'delays',
  'shortens',
  'endless',
  'levels',
  'gathers',
  'later',
  'broken',
  'versions',
]

/**
 * Of models whose counters no refused value decides; all of them at the beginning: `/v2/models/stats` is among what is
 * read.
 */
export const statisticsAsks: readonly Ask[] = [...names, 'versions/versions/2'].map((name) =>
  get(`/v2/models/${name}/stats`),
)
