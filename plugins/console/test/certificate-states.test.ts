/** What is said of a certificate while its successor is ordered, or could not be. */
import t from 'tap'
import { awaitsCertificate, domainsWithTls } from '../web/src/pages/publishing/awaited.ts'
import { stateText } from '../web/src/pages/publishing/states.ts'

type Served = Parameters<typeof domainsWithTls>[0]['served'][number]

const served = (state: Served['state'], more: Partial<Served> = {}): Served => ({
  domain: 'www.example.test',
  certificate: 'www',
  notAfter: '2099-01-01T00:00:00.000Z',
  covers: true,
  state,
  ...more,
})

t.test('visitors have TLS as long as what they get is in force', async t => {
  for (const state of ['valid', 'expiring', 'pending', 'failed'] as const) {
    t.same(domainsWithTls({ served: [served(state)] }), ['www.example.test'], state)
    t.same(domainsWithTls({ served: [served(state, { covers: false })] }), [], `${state}, of another name`)
  }
  t.same(domainsWithTls({ served: [served('expired')] }), [])
  t.same(domainsWithTls({ served: [served('failed', { notAfter: '' })] }), [], 'there has been none yet')
})

t.test('a renewal is not waited for', async t => {
  const of = { aliases: ['www.example.test'], tls: { certificate: 'auto' } }
  const awaits = (...served: Served[]) => awaitsCertificate({ ...of, served } as never)
  t.equal(awaits(), true)
  t.equal(awaits(served('pending', { notAfter: '' })), true)
  t.equal(awaits(served('pending')), false)
})

t.test('the state in words is that of the certificate, not of its successor', async t => {
  t.equal(stateText(served('valid'), true), 'valid')
  t.equal(stateText(served('pending'), true), 'valid, being ordered anew')
  t.equal(stateText(served('failed'), true), 'valid, last order failed')
  t.equal(stateText(served('failed', { notAfter: '' }), true), 'failed')
  t.equal(stateText(served('expired'), true), 'expired')
  t.equal(stateText(served('pending'), false), 'pending', 'one of the future')
})
