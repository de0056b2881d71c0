// @ts-check
// node scripts/prepare.mjs: builds and fetches what the tests need, and runs none of them. .ci/run does it beside lint.
import { buildAll } from './build.mjs'
import { prepareTests } from './test-needs.mjs'
import { main } from './support.mjs'

await main(async () => {
  await buildAll(prepareTests())
})
