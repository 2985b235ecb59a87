/**
 * The contract suite of the extension point `purge.webhook`: the guarantees that the plugin `purge` relies on. `test/contract.test.ts` of each
 * kind runs it:
 *
 *     t.test('the webhook keeps the contract', t => purgeWebhookContract(t, async t => {
 *       const cache = await startMyCache(t)
 *       return { kind, settings: cache.settings, cdn: cache.cdn, … }
 *     }))
 */
import type { MaybePromise } from 'svc/kernel'
import { type ContractSuite, contractSuite } from 'svc/testing'
import type { Test } from 'tap'
import type { AnyPurgeWebhookKind, CallFailure, PurgeOperation, PurgeSite, PurgeWebhook } from './api.ts'
import { createTestContext } from './testing.ts'

export interface Copies {
  put(url: string, tags?: readonly string[]): MaybePromise<void>
  has(url: string): MaybePromise<boolean>
}

export interface PurgeWebhookSubject {
  readonly kind: AnyPurgeWebhookKind
  /** Complete, for the hosts `www.example.test` and `cdn.example.test` over https. */
  readonly settings: Readonly<Record<string, unknown>>
  /** The copies behind a server that has the wire format of the cache, and answers 4xx to everything else. */
  readonly cdn: Copies
  /** The next request is answered so, whatever it is. */
  answerNext(status: number, headers?: Readonly<Record<string, string>>): void
  /** Makes the cache accept requests and never answer them. The suite does not use the subject afterwards. */
  hang(): void
  /** Settings whose credentials are well-formed but wrong; undefined: the kind has none. */
  readonly wrongCredentials: Readonly<Record<string, unknown>> | undefined
}

const site: PurgeSite = { distribution: 'site', hosts: ['www.example.test', 'cdn.example.test'] }
const host = site.hosts[0]!
const never = () => new AbortController().signal
const origin = `https://${host}`

/** Whoever gives a value that does not match is told in words what is wanted. */
const patternsWithoutWords = ({ kind }: PurgeWebhookSubject): readonly string[] =>
  Object.entries(kind.settings.properties as Readonly<Record<string, { pattern?: string; errorMessage?: string }>>)
    .filter(([, { pattern, errorMessage }]) => pattern !== undefined && errorMessage === undefined)
    .map(([name]) => name)

function connect(t: Test, { kind }: PurgeWebhookSubject, settings: Readonly<Record<string, unknown>>): PurgeWebhook {
  const webhook = kind.connect(settings as never, createTestContext(t))
  t.teardown(() => webhook.close())
  return webhook
}

async function sendAll(webhook: PurgeWebhook, operations: readonly PurgeOperation[]): Promise<readonly string[]> {
  const { calls, widened } = webhook.plan(operations, site)
  for (const call of calls) await webhook.send(call, never())
  return widened
}

const url = (path: string, isSoft = false): PurgeOperation => ({ kind: 'url', host, path, isSoft })

/** One operation of each kind, and the copies that it selects: paths of `host`, or whole URLs. */
const selections: Readonly<Record<string, readonly [operation: PurgeOperation, selected: readonly string[]]>> = {
  url: [url('/a/b.html'), [`${origin}/a/b.html`]],
  'a URL with characters that are encoded': [
    url('/ä b/100%&c?d#e.html'),
    [`${origin}/%C3%A4%20b/100%25&c%3Fd%23e.html`],
  ],
  prefix: [{ kind: 'prefix', host, path: '/docs/', isSoft: false }, [`${origin}/docs/`, `${origin}/docs/a/b.html`]],
  'a prefix in the middle of a name': [
    { kind: 'prefix', host, path: '/docs/re', isSoft: false },
    [`${origin}/docs/report.html`, `${origin}/docs/re/x`],
  ],
  glob: [
    {
      kind: 'pattern',
      type: 'glob',
      host,
      pattern: '/img/*.png',
      literal: '/img/',
      isCaseInsensitive: false,
      isSoft: false,
    },
    [`${origin}/img/a.png`, `${origin}/img/b.png`],
  ],
  regex: [
    { kind: 'pattern', type: 'regex', host, pattern: 'x$', literal: '/', isCaseInsensitive: false, isSoft: false },
    [`${origin}/anything/x`, `${origin}/x`],
  ],
  tag: [{ kind: 'tag', tag: 'home', isSoft: false }, [`${origin}/tagged-1`, 'https://cdn.example.test/tagged-2']],
  domain: [{ kind: 'domain', host, isSoft: false }, [`${origin}/`, `${origin}/deep/er`]],
  all: [{ kind: 'all', isSoft: false }, [`${origin}/`, 'https://cdn.example.test/other']],
}

export const purgeWebhookContract: ContractSuite<PurgeWebhookSubject> = contractSuite('purge webhook', {
  'never less is forgotten than was asked for': async (t, subject) => {
    const { cdn } = subject
    const webhook = connect(t, subject, subject.settings)
    for (const isSoft of [false, true]) {
      for (const [name, [operation, selected]] of Object.entries(selections)) {
        for (const copy of selected) await cdn.put(copy, ['home', 'other'])
        await sendAll(webhook, [{ ...operation, isSoft }])
        t.same(await left(cdn, selected), [], `${name}${isSoft ? ', soft' : ''}`)
      }
    }
  },

  'what a pattern of its settings wants is told in words': (t, subject) => {
    t.same(patternsWithoutWords(subject), [])
  },

  'one URL costs no other copy': async (t, subject) => {
    const { cdn } = subject
    const others = [`${origin}/a`, `${origin}/a/b`, `${origin}/a/b.html.map`, 'https://cdn.example.test/a/b.html']
    for (const copy of [...others, `${origin}/a/b.html`]) await cdn.put(copy)
    t.same(await sendAll(connect(t, subject, subject.settings), [url('/a/b.html')]), [], 'nothing is widened')
    // A cache that does not tell hosts apart forgets the path at each.
    t.same(await left(cdn, others.slice(0, 3)), others.slice(0, 3))
    t.notOk(await cdn.has(`${origin}/a/b.html`))
  },

  'hard and soft purges together leave nothing of the hard ones': async (t, subject) => {
    const { cdn } = subject
    for (const path of ['/hard', '/soft']) await cdn.put(`${origin}${path}`, ['home'])
    await sendAll(connect(t, subject, subject.settings), [
      { kind: 'all', isSoft: true },
      url('/hard'),
      { kind: 'tag', tag: 'home', isSoft: false },
    ])
    t.same(await left(cdn, [`${origin}/hard`]), [])
  },

  'thousands of items are as many calls as the cache takes items': async (t, subject) => {
    const { cdn } = subject
    const webhook = connect(t, subject, subject.settings)
    const paths = Array.from({ length: 1200 }, (_, index) => `/files/${index}-${'n'.repeat(40)}.html`)
    for (const path of paths) await cdn.put(`${origin}${path}`)
    const tags = Array.from({ length: 300 }, (_, index) => `tag-${index}`)
    for (const tag of tags) await cdn.put(`${origin}/of/${tag}`, [tag])
    const operations = [
      ...paths.map(path => url(path)),
      ...tags.map(tag => ({ kind: 'tag' as const, tag, isSoft: false })),
    ]
    await sendAll(webhook, operations)
    const all = [...paths.map(path => `${origin}${path}`), ...tags.map(tag => `${origin}/of/${tag}`)]
    t.same(await left(cdn, all), [])
  },

  'to plan sends nothing, and is repeatable': async (t, subject) => {
    const { cdn } = subject
    const webhook = connect(t, subject, subject.settings)
    const operations = Object.values(selections).map(([operation]) => operation)
    await cdn.put(`${origin}/kept`)
    t.same(webhook.plan(operations, site), webhook.plan(operations, site))
    t.ok(await cdn.has(`${origin}/kept`))
    t.same(webhook.plan([], site).calls, [], 'nothing to forget is no call')
  },

  'wrong credentials are permanent, and in no message': async (t, subject) => {
    const settings = subject.wrongCredentials
    if (settings === undefined) return
    await subject.cdn.put(`${origin}/a`)
    const error = await failure(sendAll(connect(t, subject, settings), [url('/a')]))
    t.match(error, { name: 'CallFailure', isPermanent: true }, error.message)
    t.ok(await subject.cdn.has(`${origin}/a`))
    const fields = Object.entries(subject.kind.settings.properties) as [string, { secret?: boolean }][]
    for (const [name] of fields.filter(([, field]) => field.secret === true))
      t.notOk(error.message.includes(String(settings[name])), `${name} is not in the message`)
  },

  'a cache that is busy or broken is asked again, when it says so': async (t, subject) => {
    const webhook = connect(t, subject, subject.settings)
    for (const [status, headers] of [
      [429, { 'retry-after': '7' }],
      [503, {}],
      [500, {}],
      [408, {}],
    ] as const) {
      subject.answerNext(status, headers)
      const error = await failure(sendAll(webhook, [url('/a')]))
      t.match(error, { name: 'CallFailure', isPermanent: false, status }, error.message)
      if (status === 429) t.equal(error.retryAfterMs, 7000)
    }
    subject.answerNext(413)
    t.match(await failure(sendAll(webhook, [url('/a')])), { isTooLarge: true })
    subject.answerNext(400)
    t.match(await failure(sendAll(webhook, [url('/a')])), { isPermanent: true })
  },

  'an abort ends the wait for a silent cache within a second': async (t, subject) => {
    const webhook = connect(t, subject, subject.settings)
    subject.hang()
    const controller = new AbortController()
    const [call] = webhook.plan([url('/a')], site).calls
    const attempt = failure(webhook.send(call!, controller.signal))
    setTimeout(() => controller.abort(new Error('given up')), 50)
    const startedMs = performance.now()
    await attempt
    t.ok(performance.now() - startedMs < 3000)
    await webhook.close()
    await webhook.close()
  },
})

/** The URLs whose copies still exist. */
async function left(cdn: Copies, urls: readonly string[]): Promise<readonly string[]> {
  const found: string[] = []
  for (const url of urls) if (await cdn.has(url)) found.push(url)
  return found
}

async function failure(attempt: Promise<unknown>): Promise<CallFailure> {
  return attempt.then(
    () => new Error('it succeeded'),
    error => error,
  ) as Promise<CallFailure>
}
