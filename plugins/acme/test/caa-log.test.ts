/** What the log says of CAA records that cannot be seen, or that leave open whom they name. */
import type { Logger } from 'svc/kernel'
import { createSystemPorts } from 'svc/testing'
import t from 'tap'
import { createPreflight, type PreflightOptions } from '../preflight.ts'

interface Line {
  readonly level: string
  readonly facts: Readonly<Record<string, unknown>>
}

function look(caa: NonNullable<PreflightOptions['dns']>['caa']) {
  const lines: Line[] = []
  const at = (level: string) => (facts: Line['facts']) => void lines.push({ level, facts })
  const log = { debug: at('debug'), info: at('info'), warn: at('warn') } as unknown as Logger
  const dns = { caa, addresses: async () => [] }
  const unused = {} as never
  const preflight = createPreflight({
    ...createSystemPorts(),
    dns,
    log,
    http: unused,
    httpPort: 80,
    challenges: unused,
  })
  const order = { certificate: 'site', challenge: 'tls-alpn-01', identities: [], accountUrl: '' }
  return { lines, check: (...domains: string[]) => preflight.check({ ...order, domains }) }
}

t.test('a name server that refuses each question is told of once, with the setting that helps', async t => {
  const { lines, check } = look(() => Promise.reject(new Error('127.0.0.1:53 refuses to answer about test')))
  await check('a.test', 'b.test')
  await check('c.test')
  t.same(
    lines.map(({ level }) => level),
    ['info', 'debug', 'debug'],
  )
  t.match(lines[0]?.facts, { reason: /refuses to answer/, hint: /SVC_ACME_DNS_NAMESERVERS/ })
})

t.test('records that name somebody are warned of, and told beside the words of the authority', async t => {
  const properties = [{ isCritical: false, tag: 'issue', value: 'other.test' }]
  const { lines, check } = look(async () => ({ name: 'a.test', properties }))
  t.match((await check('www.a.test')).get('www.a.test'), /0 issue "other\.test".*does not tell its name/)
  t.match(lines, [{ level: 'warn', facts: { certificate: 'site', domain: 'www.a.test' } }])
})
