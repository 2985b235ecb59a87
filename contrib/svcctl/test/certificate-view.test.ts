/** How `dist cert` shows ordered certificates: the present one, and the order for its successor. */
import t from 'tap'
import { type Certificate, nextOrderOf, stateOf } from '../certificate.ts'

const nowMs = Date.parse('2030-02-15T00:00:00Z')
const ordered = (
  state: string,
  more: Partial<Certificate> = {},
  acme: Partial<Certificate['acme']> = {},
): Certificate => ({
  id: 'site',
  source: 'acme',
  state,
  domains: ['a.test'],
  issuer: 'CN=ca',
  serial: '1',
  keyType: 'ecdsa-p256',
  notBefore: '2030-01-01T00:00:00.000Z',
  notAfter: '2030-04-01T00:00:00.000Z',
  fingerprint: 'ab',
  comment: '',
  usedBy: [],
  acme: { directory: 'https://ca.test/', step: '', attempts: 0, lastError: '', failedDomains: [], ...acme },
  ...more,
})

t.test('a certificate that is presented is valid, whatever becomes of the order for its successor', async t => {
  t.equal(stateOf(ordered('valid'), nowMs), 'valid')
  t.equal(stateOf(ordered('expiring'), nowMs), 'expiring')
  t.equal(stateOf(ordered('pending', {}, { step: 'validate' }), nowMs), 'valid, renewal under way')
  const failure = { attempts: 1, lastError: 'validate: refused', failedDomains: [] }
  t.equal(stateOf(ordered('failed', {}, failure), nowMs), 'valid, renewal failed')
  const partly = { ...failure, failedDomains: [{ domain: 'b.test', step: 'validate', error: 'refused' }] }
  t.equal(stateOf(ordered('failed', {}, partly), nowMs), 'valid, without b.test')
})

t.test('one that is not presented has the state that the server tells', async t => {
  t.equal(stateOf(ordered('pending', { notBefore: '', notAfter: '' }), nowMs), 'pending')
  t.equal(stateOf(ordered('failed', { notBefore: '', notAfter: '' }, { attempts: 1 }), nowMs), 'failed')
  t.equal(stateOf(ordered('expired', { notAfter: '2030-02-01T00:00:00.000Z' }), nowMs), 'expired')
  t.equal(stateOf(ordered('pending', { notBefore: '2030-03-01T00:00:00.000Z' }), nowMs), 'pending', 'not yet valid')
})

t.test('the next order is a renewal, and after a failure an attempt', async t => {
  const nextAttemptAt = '2030-03-02T00:00:00.000Z'
  t.same(nextOrderOf(ordered('valid', {}, { nextAttemptAt })), { renews: nextAttemptAt })
  t.same(nextOrderOf(ordered('failed', {}, { nextAttemptAt, attempts: 2 })), { nextAttempt: nextAttemptAt })
  t.same(nextOrderOf(ordered('pending', {}, { step: 'order' })), {})
})
