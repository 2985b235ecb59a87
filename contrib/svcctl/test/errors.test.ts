/** What errors say to a person. */
import { createReadStream } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { describeError } from '../errors.ts'

t.test('a folder in place of a file is named as one, also where the error has no path', async t => {
  const error = await buffer(createReadStream(t.testdir())).catch(error => error)
  t.equal(describeError(error), 'What is to be read is a folder, not a file (EISDIR).')
})
