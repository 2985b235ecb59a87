/** Which rules of a lifecycle are asked about before they are saved: those that delete what the stored ones do not, to the byte and the moment. */
import t from 'tap'
import { deletingRules, lifecycleEffects } from '../web/src/pages/bucket/lifecycle-words.ts'

type Rule = Parameters<typeof deletingRules>[0][number]

const isAsked = (rule: Rule, stored: Rule): boolean => deletingRules([rule], [stored]).length > 0
const daily = (filter: Rule['filter']): Rule => ({ enabled: true, filter, expiration: { days: 1 } })
const at = (date: string): Rule => ({ enabled: true, filter: {}, expiration: { date } })
const markers = (prefix: string): Rule => ({
  enabled: true,
  filter: { prefix },
  expiration: { expiredObjectDeleteMarker: true },
})

t.test('what deletes something else is asked about, however little it differs', async t => {
  t.ok(isAsked(daily({ sizeGreaterThan: 1024 ** 3 }), daily({ sizeGreaterThan: 1_115_000_000 })), 'both are 1.0 GiB')
  t.ok(isAsked(daily({ sizeLessThan: 1_115_000_000 }), daily({ sizeLessThan: 1024 ** 3 })))
  t.ok(isAsked(daily({ sizeGreaterThan: 0 }), daily({})))
  t.ok(isAsked(at('2030-01-01T00:00:00Z'), at('2030-01-01T00:00:30Z')), 'within a minute')
  t.ok(isAsked(markers('a/'), markers('b/')))
  t.ok(isAsked(markers('a/'), { ...markers('a/'), enabled: false }))
  t.ok(isAsked(daily({ tags: { a: '1' } }), daily({ tags: { a: '2' } })))
})

t.test('what is deleted already is not', async t => {
  t.notOk(isAsked({ ...daily({ prefix: '' }), id: 'named' }, daily({})))
  t.notOk(isAsked(daily({ tags: { a: '1', b: '2' } }), daily({ tags: { b: '2', a: '1' } })))
  t.notOk(isAsked(at('2030-01-01T00:00:00Z'), at('2030-01-01T00:00:00.000Z')))
  t.notOk(isAsked(markers('a/'), markers('a/')))
  const noncurrentExpiration = { noncurrentDays: 3 }
  t.notOk(
    isAsked(
      { enabled: true, filter: {}, noncurrentExpiration: { ...noncurrentExpiration, newerNoncurrentVersions: 0 } },
      { enabled: true, filter: {}, noncurrentExpiration },
    ),
  )
  t.notOk(isAsked({ ...daily({}), enabled: false }, markers('')), 'a rule that is not applied')
  const uploads = { enabled: true, filter: {}, abortIncompleteUpload: { daysAfterInitiation: 1 } }
  t.notOk(isAsked(uploads, markers('')), 'a rule for uploads alone')
})

t.test('where old versions are kept a rule that deletes objects says that they stay', async t => {
  t.same(lifecycleEffects(daily({})), ['are deleted 1 day after they were made'])
  t.match(lifecycleEffects(daily({}), true), [/^are deleted/, /^what they hold stays as old versions/])
  t.match(lifecycleEffects(at('2999-01-01T00:00:00Z'), true), [/^are deleted/, /^what they hold stays/])
  t.match(lifecycleEffects(markers(''), true), { length: 1 }, 'one that deletes none says nothing of it')
})
