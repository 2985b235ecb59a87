/** What people are told of a request that has failed. */
import t from 'tap'
import { Problem, wordsOf } from '../web/src/api/problem.ts'

t.test('words that send somebody to the log of the server come with the request id', async t => {
  const failed = { status: 500, code: 'internal_error', isOfServer: true, requestId: '0123456789abcdef' }
  const detail = 'The server failed. The request id finds the reason in its log.'
  t.equal(wordsOf(new Problem({ ...failed, detail })), `${detail} (Request 0123456789abcdef)`)
  const refused = { ...failed, status: 404, code: 'object_not_found', detail: 'The object does not exist.' }
  t.equal(wordsOf(new Problem(refused)), 'The object does not exist.')
  t.equal(wordsOf(new Error('The file has changed.')), 'The file has changed.')
  t.equal(wordsOf('strange'), 'strange')
})
