/** What the overview says of certificates that were ordered. */
import t from 'tap'
import { type Certificate, needsAttention, orderedFinding } from '../web/src/pages/overview/certificates.ts'

const dayMs = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString()
const failedName = { domain: 'dead.example.test', step: 'validate', error: 'no such host' }
const ordered = (more: object, failedDomains: object[] = []) =>
  ({
    id: 'shop',
    source: 'acme',
    state: 'valid',
    domains: ['shop.example.test'],
    usedBy: ['shop'],
    servedFor: ['shop.example.test'],
    notBefore: inDays(-10),
    notAfter: inDays(80),
    acme: { lastError: failedDomains.length > 0 ? 'no such host' : '', failedDomains },
    ...more,
  }) as unknown as Certificate

t.test('one that is renewed in time needs nothing', async t => {
  t.equal(needsAttention(ordered({})), false)
  t.equal(needsAttention(ordered({ usedBy: [], servedFor: [], state: 'expired' })), false, 'nobody gets it')
})

t.test('a name that is left out is told, and an end that is near as well', async t => {
  const without = ordered({ state: 'failed' }, [failedName])
  t.equal(needsAttention(without), true)
  const { text, details } = orderedFinding(without)
  t.match(text, /^The certificate shop is without dead\.example\.test, .*there\.$/)
  t.equal(details, 'no such host')
  const ending = { state: 'failed', notBefore: inDays(-88), notAfter: inDays(2) }
  t.match(
    orderedFinding(ordered(ending, [failedName])).text,
    /is without dead.* The certificate shop expires on .* get it\.$/,
  )
  const over = { state: 'expired', notBefore: inDays(-91), notAfter: inDays(-1) }
  t.match(orderedFinding(ordered(over, [failedName])).text, /is without dead.* The certificate shop expired on /)
})

t.test('one that could not be ordered at all', async t => {
  const none = ordered(
    { state: 'failed', domains: ['dead.example.test'], servedFor: [], notAfter: '', notBefore: '' },
    [failedName],
  )
  t.equal(orderedFinding(none).text, 'The certificate shop could not be ordered.')
})
