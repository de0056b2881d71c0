// The seeded networks of the examples that take long at their real size. models.test.ts has the small ones.
import t from 'tap'
import { architectures, checkArchitecture, isSmall } from './architectures.js'

for (const architecture of architectures.filter((each) => !isSmall(each)))
  t.test(architecture.name, (t) => checkArchitecture(t, architecture))
