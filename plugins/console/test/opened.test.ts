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

t.test('a behavior opens its pattern', async t => {
  const behaviors = [{ access: 'public', pathPattern: prefix('/a/') }]
  t.same(objectsOf({ ...closed, behaviors }, closed), ['objects whose name is “a/*”'])
  const inherits = [{ access: '', pathPattern: prefix('/a/') }]
  t.same(openedBy({ ...closed, behaviors: inherits }, closed), [])
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
  t.same(openedBy({ ...shown, mode: 's3' }, closed), [], 'there the rights of the bucket decide')
})

t.test('restrictions are told with what is opened', async t => {
  t.equal(
    openedBy({ ...shown, aliases: [], restrictions: office }, closed)[0]?.limits,
    'Its restrictions limit from where.',
  )
})
