/** What single networks do in their own way: budgets of wildcards, settings that are missing, headers of answers. */
import type { PurgeOperation } from 'svc/plugins/purge/api'
import { createTestContext } from 'svc/plugins/purge/testing'
import t from 'tap'
import { createCdn1 } from '../kinds/cdn-1.ts'
import { createCdn2 } from '../kinds/cdn-2.ts'
import { startCdn1, startCdn2, startCdn5 } from './vendors.ts'

const never = new AbortController().signal
const site = { distribution: 'site', hosts: ['www.example.test'] }
const host = 'www.example.test'

t.test('CloudFront: no more than 15 wildcards are under way', async t => {
  let isCompleted = false
  const vendor = await startCdn5(t, { isCompleted: () => isCompleted })
  const timers: (() => void)[] = []
  const context = createTestContext(t)
  // Polls come as soon as the test says so.
  const after = (_ms: number, work: () => void) => {
    timers.push(work)
    return () => {}
  }
  const clock = { ...context.clock, after }
  const webhook = vendor.kind.connect(vendor.settings as never, { ...context, clock })
  const prefixes = Array.from(
    { length: 20 },
    (_, index): PurgeOperation => ({ kind: 'prefix', host, path: `/p${index}/`, isSoft: false }),
  )
  const { calls } = webhook.plan(prefixes, site)
  t.same(
    calls.map(({ summary }) => summary),
    ['15 paths', '5 paths'],
  )
  await webhook.send(calls[0]!, never)
  let isSent = false
  const second = webhook.send(calls[1]!, never).then(() => {
    isSent = true
  })
  while (timers.length === 0) await new Promise(done => setTimeout(done, 5))
  t.notOk(isSent)
  t.match(vendor.receiver.requests.at(-1), { method: 'GET', path: /\/invalidation\/I1$/ })
  isCompleted = true
  timers.shift()!()
  await second
  t.equal(vendor.receiver.requests.filter(({ method }) => method === 'POST').length, 2)
})

t.test('Cloudflare: an answer of success:false is a failure', async t => {
  const vendor = await startCdn1(t)
  const webhook = vendor.kind.connect(vendor.settings as never, createTestContext(t))
  vendor.receiver.answer = (_request, response) => void response.writeHead(200).end('{"success":false,"errors":[]}')
  const [call] = webhook.plan([{ kind: 'url', host, path: '/', isSoft: false }], site).calls
  await t.rejects(webhook.send(call!, never), /answers 200, but not success/)
})

t.test('Fastly: what needs the service says so, single URLs go without it', async t => {
  const vendor = await startCdn2(t)
  const { zone: _zone, ...settings } = vendor.settings
  const webhook = vendor.kind.connect(settings as never, createTestContext(t))
  vendor.cdn.put(`https://${host}/a`)
  const operations: PurgeOperation[] = [
    { kind: 'url', host, path: '/a', isSoft: false },
    { kind: 'tag', tag: 'x', isSoft: false },
  ]
  const { calls } = webhook.plan(operations, site)
  await webhook.send(calls[0]!, never)
  t.same(vendor.cdn.urls(), [])
  t.match(calls, [{ problem: undefined }, { problem: /set the zone/ }])
})

t.test('tags of answers are as purges name them', async t => {
  t.same(createCdn1('https://api.test').tagHeader?.(['a', 'b,c', 'ü']), ['Cache-Tag', 'a,b%2Cc,%C3%BC'])
  t.same(createCdn2('https://api.test').tagHeader?.(['a', 'b c']), ['Surrogate-Key', 'a b%20c svc-all'])
})
