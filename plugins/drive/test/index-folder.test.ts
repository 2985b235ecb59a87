/** The answer of the process that checks an index, whether it exits or hangs. */
import { join } from 'node:path'
import t from 'tap'
import { checkInProcess } from '../index-folder.ts'

const script = join(import.meta.dirname, 'fixtures/check-process.ts')

t.test('the answer of a check counts, whether its process exits or not', async t => {
  t.equal(await checkInProcess(['hangs'], script), 'a page is damaged')
  t.equal(await checkInProcess(['fails'], script), 'reading it ended with code 3')
})
