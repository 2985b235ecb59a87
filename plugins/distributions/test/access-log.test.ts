/** Lines of the access log: what a client sends cannot put a credential into them. */
import t from 'tap'
import { type AccessRecord, accessFields, combinedLine } from '../access-log.ts'

const record = (url: string, referer?: string) =>
  ({
    visit: {
      distribution: { id: 'site' },
      tags: {},
      sentBytes: 1,
      exchange: {
        clientAddress: '192.0.2.1',
        request: { method: 'GET', url, httpVersion: '1.1', headers: { referer } },
      },
    },
    status: 200,
    timeMs: 0,
    durationMs: 1,
  }) as unknown as AccessRecord

t.test('neither the query nor the referer shows a signature', async t => {
  const signed = 'Policy=abc&Signature=s3cret-one&Key-Pair-Id=K1'
  const told = record(`/a?${signed}`, `https://www.example.test/films/?page=2&${signed}`)
  for (const text of [JSON.stringify(accessFields(told)), combinedLine(told)]) {
    t.notMatch(text, /s3cret-one|=abc|=K1/)
    t.match(text, 'https://www.example.test/films/?page=2&Policy=')
  }
  t.equal(accessFields(record('/a', 'https://www.example.test/b')).referer, 'https://www.example.test/b')
  t.equal(accessFields(record('/a')).referer, '')
  t.match(combinedLine(record('/a')), / "-" "-"$/)
})
