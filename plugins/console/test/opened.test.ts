/** What saving a distribution would open: the question is asked for this, and for nothing else. */
import t from 'tap'
import { openedBy, type Published } from '../web/src/pages/distributions/opened.ts'

const prefix = (pattern: string) => ({ type: 'prefix', pattern })
const closed: Published = {
  enabled: true,
  mode: 'website',
  origin: { bucket: 'site', pathPrefix: '' },
  aliases: ['www.example.test'],
  defaultBehavior: { access: 'signed' },
  behaviors: [],
  errorPages: [],
  restrictions: {},
}
const shown: Published = { ...closed, defaultBehavior: { access: 'public' } }
const office = { sourceIp: { allow: ['192.0.2.0/24'] } }
const objectsOf = (draft: Published, stored: Published) => openedBy(draft, stored).map(({ objects }) => objects)
const everything = ['every object of the bucket site']

t.test('opening the default behavior opens everything', async t => {
  t.same(objectsOf(shown, closed), everything)
  t.same(objectsOf({ ...shown, defaultBehavior: {} }, closed), everything, 'what says nothing is public')
  t.same(objectsOf({ ...shown, origin: { ...shown.origin, pathPrefix: 'a/' } }, closed), [
    'every object whose name begins with “a/”',
  ])
  t.equal(openedBy(shown, closed)[0]?.limits, 'It is shown at www.example.test.')
})

t.test('what was open is not asked about', async t => {
  t.same(openedBy(shown, shown), [])
  t.same(openedBy(closed, shown), [])
  t.same(openedBy({ ...shown, behaviors: [{ access: 'public', pathPattern: prefix('/a/') }] }, shown), [])
  t.same(openedBy({ ...shown, restrictions: office }, shown), [])
})

t.test('restrictions that let in others open what is public', async t => {
  const restricted = (restrictions: Published['restrictions']) => ({ ...shown, restrictions })
  const both = { sourceIp: { allow: ['192.0.2.0/24'], deny: ['192.0.2.7'] } }
  const secret = { originSecretHeader: { name: 'X-Origin' } }
  const opens = (after: Published['restrictions'], before: Published['restrictions']) =>
    objectsOf(restricted(after), restricted(before))
  t.same(opens({ sourceIp: { allow: ['192.0.2.0/24', '0.0.0.0/0'] } }, office), everything, 'more addresses')
  t.same(opens(office, both), everything, 'an address that was denied')
  t.same(opens({ sourceIp: { deny: ['192.0.2.7'] } }, both), everything, 'all but one')
  t.same(opens(office, { ...office, ...secret }), everything, 'without the secret')
  t.same(opens(both, office), [])
  t.same(opens({ sourceIp: { allow: [], deny: ['192.0.2.7'] } }, { sourceIp: { deny: ['192.0.2.7'] } }), [])
  t.same(opens({ ...office, ...secret }, office), [])
  t.same(openedBy({ ...closed, restrictions: office }, { ...closed, restrictions: both }), [], 'nothing is public')
})

t.test('a behavior opens its pattern', async t => {
  const behaviors = [{ access: 'public', pathPattern: prefix('/a/') }]
  t.same(objectsOf({ ...closed, behaviors }, closed), ['objects whose name is “a/*”'])
  const inherits = [{ access: '', pathPattern: prefix('/a/') }]
  t.same(openedBy({ ...closed, behaviors: inherits }, closed), [])
})

t.test('a behavior that ignores case decides about more paths than one that does not', async t => {
  const secret = { access: 'deny', pathPattern: { ...prefix('/secret/'), caseInsensitive: true } }
  const exact = { ...secret, pathPattern: prefix('/secret/') }
  const of = (...behaviors: Published['behaviors']) => ({ ...shown, behaviors })
  t.same(objectsOf(of(exact), of(secret)), ['objects whose name is “secret/*” (in upper or lower case)'])
  t.same(openedBy(of(secret), of(exact)), [])
  t.same(openedBy(of(secret), of(secret)), [])
  const loud = { ...secret, pathPattern: { ...prefix('/SECRET/'), caseInsensitive: true } }
  t.same(openedBy(of(loud), of(secret)), [], 'written in another case it is the same')
  t.same(openedBy(of(loud), of(exact)), [])
  const digits = { ...secret, pathPattern: { ...prefix('/2024/'), caseInsensitive: true } }
  t.same(openedBy(of({ ...digits, pathPattern: prefix('/2024/') }), of(digits)), [], 'digits have no case')
  const open = { ...secret, access: 'public' }
  const without = (...behaviors: Published['behaviors']) => ({ ...closed, behaviors })
  t.same(objectsOf(without(open), without({ ...exact, access: 'public' })), [
    'objects whose name is “secret/*” (in upper or lower case)',
  ])
  t.same(objectsOf(of({ ...exact, access: 'public' }, secret), of(secret)), ['objects whose name is “secret/*”'])
})

t.test('names in composed and in decomposed Unicode may be the same, or not (SVC_KEY_NORMALIZATION)', t => {
  const [composed, decomposed] = (['NFC', 'NFD'] as const).map(form => 'über'.normalize(form))
  const named = (name: string, access: string, more: Partial<Published> = {}): Published => ({
    ...shown,
    ...more,
    behaviors: [{ access, pathPattern: prefix(`/${name}/`) }, ...(more.behaviors ?? [])],
  })
  const before = named(composed!, 'deny')
  t.same(objectsOf(named(decomposed!, 'deny'), before), [`objects whose name is “${composed}/*”`])
  t.same(openedBy(named(decomposed!, 'deny'), named(decomposed!, 'deny')), [])
  t.same(openedBy(named(decomposed!, 'deny', before), before), [], 'both are closed')
  t.same(objectsOf(named(decomposed!, 'public', before), before), [`objects whose name is “${composed}/*”`])
  const pages = (path: string) => ({ ...closed, errorPages: [{ status: 403, path }] })
  t.same(objectsOf(pages(`/${decomposed}.html`), pages(`/${composed}.html`)), [
    `objects whose name is “${decomposed}.html”`,
  ])
  const fallback = (spaFallback: string) => ({ ...before, defaultBehavior: { access: 'public', spaFallback } })
  t.same(objectsOf(fallback(`/${decomposed}/x.html`), before), [`objects whose name is “${composed}/x.html”`])
  t.end()
})

t.test('an index document opens what its own path closes', async t => {
  const pdf = { access: 'deny', pathPattern: { type: 'glob', pattern: '/**.pdf' } }
  const stored = { ...shown, behaviors: [pdf] }
  const draft = { ...stored, defaultBehavior: { access: 'public', indexDocument: 'report.pdf' } }
  const opened = 'the object “report.pdf” of each folder that is shown, also where its own path is closed'
  t.same(objectsOf(draft, stored), [opened])
  t.same(openedBy(draft, draft), [])
  t.same(openedBy({ ...draft, defaultBehavior: { access: 'signed', indexDocument: 'report.pdf' } }, stored), [])
  const folder = { ...shown, behaviors: [{ access: 'deny', pathPattern: prefix('/closed/') }] }
  t.same(openedBy({ ...folder, defaultBehavior: { indexDocument: 'a.html' } }, folder), [], 'a folder with all in it')
  const landing = { ...closed, behaviors: [{ access: 'public', pathPattern: { type: 'glob', pattern: '/' } }] }
  t.same(
    objectsOf({ ...landing, defaultBehavior: { ...closed.defaultBehavior, indexDocument: 'report.pdf' } }, landing),
    [opened],
  )
  const of = { access: 'public', pathPattern: prefix('/a/'), indexDocument: 'report.pdf' }
  t.same(objectsOf({ ...stored, behaviors: [pdf, of] }, stored), [opened], 'of a behavior')
})

t.test('an S3 endpoint opens what the bucket allows', async t => {
  const endpoint = { ...closed, mode: 's3', defaultBehavior: { access: 'authenticated' } }
  const open = { ...endpoint, defaultBehavior: { access: 'public' } }
  const opened = ['what policies, access rules and access control lists of the bucket site allow everybody']
  t.same(objectsOf(open, endpoint), opened)
  t.same(objectsOf({ ...shown, mode: 's3' }, shown), opened, 'which was a website')
  t.same(objectsOf({ ...endpoint, defaultBehavior: {} }, endpoint), opened, 'what says nothing is public')
  t.same(objectsOf(open, { ...open, enabled: false }), opened)
  t.same(objectsOf(open, { ...open, restrictions: office }), opened)
  t.same(openedBy(open, open), [])
  t.same(openedBy(endpoint, open), [])
  t.same(openedBy({ ...endpoint, restrictions: {} }, { ...endpoint, restrictions: office }), [])
})

t.test('pinned versions open old and deleted ones', async t => {
  const pinned = (one: Published) => ({ ...one, origin: { ...one.origin, versionPinning: true } })
  const versions = ['old and deleted versions of what it shows, by the numbers of versions']
  t.same(objectsOf(pinned(shown), shown), versions)
  t.same(openedBy(pinned(shown), pinned(shown)), [])
  t.same(openedBy(pinned(closed), closed), [])
  t.same(objectsOf(pinned(shown), pinned(closed)), [...everything, ...versions])
})

t.test('so does the end of a behavior that closed it', async t => {
  const behaviors = [{ access: 'signed', pathPattern: { type: 'glob', pattern: '/*.pdf' } }]
  t.same(objectsOf(shown, { ...shown, behaviors }), ['objects whose name is “*.pdf”'])
})

t.test('another bucket or prefix, enabling, and fewer restrictions open what is public', async t => {
  t.same(objectsOf(shown, { ...shown, origin: { ...shown.origin, bucket: 'other' } }), everything)
  t.same(objectsOf(shown, { ...shown, origin: { ...shown.origin, pathPrefix: 'a/' } }), everything)
  t.same(objectsOf(shown, { ...shown, enabled: false }), everything)
  t.same(objectsOf(shown, { ...shown, mode: 's3' }), everything)
  t.same(objectsOf(shown, { ...shown, restrictions: office }), everything)
  t.same(openedBy({ ...shown, enabled: false }, { ...closed, enabled: false }), [])
})

t.test('an error page is shown to those who are refused', async t => {
  const errorPages = [{ status: 404, path: '/no.html' }]
  t.same(objectsOf({ ...closed, errorPages }, closed), ['objects whose name is “no.html”'])
  t.same(openedBy({ ...closed, errorPages }, { ...closed, errorPages }), [])
  t.same(openedBy({ ...shown, errorPages }, shown), [], 'of what everybody sees')
})

t.test('restrictions are told with what is opened', async t => {
  t.equal(
    openedBy({ ...shown, aliases: [], restrictions: office }, closed)[0]?.limits,
    'Its restrictions limit from where.',
  )
})

t.test('the order of behaviors decides, and so does what a new one is put before', async t => {
  const closedFolder = { access: 'signed', pathPattern: prefix('/private/') }
  const openFile = { access: 'public', pathPattern: { type: 'glob', pattern: '/private/a.txt' } }
  const elsewhere = { access: 'public', pathPattern: prefix('/b/') }
  const stored = { ...shown, behaviors: [closedFolder, openFile, elsewhere] }
  t.same(openedBy(stored, stored), [])
  t.same(objectsOf({ ...shown, behaviors: [openFile, closedFolder, elsewhere] }, stored), [
    'objects whose name is “private/a.txt”',
  ])
  t.same(openedBy({ ...shown, behaviors: [closedFolder, elsewhere, openFile] }, stored), [], 'nothing that matters')
  t.same(openedBy(stored, { ...shown, behaviors: [openFile, closedFolder] }), [])
  const whole = { access: 'public', pathPattern: prefix('/') }
  t.same(objectsOf({ ...shown, behaviors: [whole, closedFolder] }, { ...shown, behaviors: [closedFolder] }), [
    'objects whose name is “private/*”',
  ])
  const inside = { access: 'public', pathPattern: prefix('/b/c/') }
  t.same(
    openedBy({ ...closed, behaviors: [elsewhere, inside] }, { ...closed, behaviors: [elsewhere] }),
    [],
    'it was open',
  )
  const expression = { access: 'public', pathPattern: { type: 'regex', pattern: 'a$' } }
  t.same(
    objectsOf({ ...shown, behaviors: [expression, closedFolder] }, { ...shown, behaviors: [closedFolder] }),
    ['objects with a path that matches “a$”'],
    'what it matches is not known',
  )
})

t.test('an object that is shown for unknown paths is shown to all who may see these', async t => {
  const behaviors = [{ access: 'signed', pathPattern: prefix('/private/') }]
  const stored = { ...shown, behaviors }
  const withFallback = (spaFallback: string) => ({ ...stored, defaultBehavior: { access: 'public', spaFallback } })
  t.same(objectsOf(withFallback('private/a.txt'), stored), ['objects whose name is “private/a.txt”'])
  t.same(openedBy(withFallback('/index.html'), stored), [])
  t.same(openedBy(withFallback('/private/a.txt'), withFallback('private/a.txt')), [], 'it was so')
  const inherits = {
    ...withFallback('/private/a.txt'),
    defaultBehavior: { access: 'signed', spaFallback: '/private/a' },
  }
  t.same(openedBy(inherits, { ...closed, behaviors }), [])
  t.same(
    objectsOf({ ...inherits, behaviors: [...behaviors, { access: 'public', pathPattern: prefix('/b/') }] }, inherits),
    ['objects whose name is “b/*”', 'objects whose name is “private/a”'],
  )
  const apart = (spaFallback: string | null) => ({
    ...inherits,
    behaviors: [...behaviors, { access: 'public', pathPattern: prefix('/b/'), spaFallback }],
  })
  t.same(objectsOf(apart(null), apart('')), ['objects whose name is “private/a”'], 'it had none of its own')
  t.same(openedBy(apart(''), inherits).length, 1, 'nothing but its folder')
})

t.test('what a behavior shows for unknown paths counts from when it decides', async t => {
  const docs = { access: 'public', pathPattern: prefix('/docs/') }
  const plan = { ...docs, spaFallback: '/secret/plan.html' }
  const opened = ['objects whose name is “secret/plan.html”']
  const of = (...behaviors: Published['behaviors']) => ({ ...closed, behaviors })
  t.same(objectsOf(of(plan), of(docs, plan)), opened, 'the one before it has gone')
  t.same(objectsOf(of(plan, docs), of(docs, plan)), opened, 'or comes after it now')
  t.same(openedBy(of(docs, plan), of(docs, plan)), [])
  t.same(openedBy(of(docs, plan), of(docs)), [], 'it never decides')
  const part = { ...docs, pathPattern: prefix('/docs/a/') }
  t.same(openedBy(of(plan), of(part, plan)), [], 'it was shown for other paths')
  t.same(openedBy(of(part, plan), of(plan)), [])
  const some = { ...docs, pathPattern: { type: 'regex', pattern: '^/docs/' } }
  const matching = 'objects below “a/” with a path that matches “^/docs/”'
  const below = (draft: Published): Published => ({ ...draft, origin: { bucket: 'site', pathPrefix: 'a/' } })
  t.same(objectsOf(below(of(some)), below(of())), [matching], 'the expression is none of keys')
  t.same(openedBy(of(some, plan), of(some, plan)), [], 'what stays is not asked about')
  t.same(objectsOf(of(plan), of(some, plan)), opened, 'what is before it may be all of it')
  t.same(objectsOf(of(plan), of({ ...plan, access: 'signed' }, plan)), ['objects whose name is “docs/*”', ...opened])
  const pinned = { ...docs, spaFallback: '/docs/index.html' }
  t.same(openedBy(of(pinned), of(docs, pinned)), [], 'what everybody sees by its own path')
})

t.test('so does its index document', async t => {
  const pdf = { access: 'deny', pathPattern: { type: 'glob', pattern: '/**.pdf' } }
  const docs = { access: 'public', pathPattern: prefix('/docs/') }
  const report = { ...docs, indexDocument: 'report.pdf' }
  const opened = ['the object “report.pdf” of each folder that is shown, also where its own path is closed']
  const of = (...behaviors: Published['behaviors']) => ({ ...closed, behaviors: [pdf, ...behaviors] })
  t.same(objectsOf(of(report), of(docs, report)), opened)
  t.same(openedBy(of(docs, report), of(docs, report)), [])
  t.same(openedBy(of(report), of(report, report)), [])
  const other = { ...report, pathPattern: prefix('/other/') }
  t.same(
    objectsOf(of(report, other), of(report, { ...other, indexDocument: 'index.html' })),
    opened,
    'in folders where it was not shown',
  )
})

t.test('so do error pages', async t => {
  const secret = { access: 'deny', pathPattern: prefix('/secret/') }
  const stored: Published = { ...shown, behaviors: [secret] }
  const missing = { status: 404, path: '/secret/404.html' }
  const opened = ['objects whose name is “secret/404.html”']
  const first = { ...missing, path: '/404.html' }
  const pages = (...errorPages: Published['errorPages']) => ({ ...stored, errorPages })
  t.same(objectsOf(pages(missing), pages(first, missing)), opened, 'the first of a status is shown')
  t.same(openedBy(pages(first, missing), pages(first)), [])
  t.same(objectsOf(pages(missing), pages({ ...missing, status: 500 })), opened, 'of what hardly happens')
  t.same(openedBy(pages({ ...missing, status: 500 }), pages(missing)), [])
  const app = { ...pages(missing), defaultBehavior: { access: 'public', spaFallback: '/index.html' } }
  t.same(objectsOf(pages(missing), app), opened, 'nothing was missing')
  t.same(openedBy(app, pages(missing)), [])
})
