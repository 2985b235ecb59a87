/** Which changes of an import are asked about first: those that may let somebody in, and no notes. */
import t from 'tap'
import { questionsOf } from '../web/src/pages/operate/import-questions.ts'

type Result = Parameters<typeof questionsOf>[0]

const asked = (result: Partial<Result>) => questionsOf({ bucketsCreated: [], removed: [], ...result })
const changed = (fields: Readonly<Record<string, string[]>>) => asked({ changed: Object.keys(fields), fields })
const none = { openings: [], admissions: [], losses: [] }

t.test('what gives back revoked access is asked about', async t => {
  const admissions = [
    'user/ada',
    'user/bob',
    'user/cy',
    'user/dan',
    'access-key/AK1',
    'access-key/AK2',
    'group/staff',
    'policy/readers',
    'config/api',
  ]
  const fields = {
    'user/ada': ['secretKey', 'description'],
    'user/bob': ['groups'],
    'user/cy': ['status'],
    'user/dan': ['policyNames'],
    'access-key/AK1': ['status'],
    'access-key/AK2': ['expiresMs'],
    'group/staff': ['policyNames'],
    'policy/readers': ['Statement'],
    'config/api': ['requests_max', 'root_access'],
  }
  t.same(changed(fields), { ...none, admissions })
  const created = ['user/new', 'access-key/AK3', 'group/new', 'policy/new']
  t.same(asked({ created }), { ...none, admissions: created })
  t.same(asked({ created: ['access-key/SVCSHARE1'] }), { ...none, openings: ['access-key/SVCSHARE1'] })
  t.same(asked({ changed: ['user/ada'] }), { ...none, admissions: ['user/ada'] }, 'of an older server, without fields')
})

t.test('what goes is asked about where it may have denied something', async t => {
  t.same(asked({ removed: ['policy/deny', 'group/denied', 'config/api', 'bucket/photos/bucket-policy'] }), {
    ...none,
    openings: ['bucket/photos/bucket-policy'],
    admissions: ['policy/deny', 'group/denied', 'config/api'],
  })
  t.same(asked({ removed: ['user/ada', 'access-key/AK1', 'access-key/SVCSHARE1', 'distribution/site'] }), none)
})

t.test('notes and settings that let nobody in are not asked about', async t => {
  const fields = {
    'user/ada': ['description'],
    'group/staff': ['description', 'createdMs'],
    'access-key/AK1': ['name', 'description'],
    'access-key/SVCSHARE1': ['description'],
    'distribution/site': ['comment'],
    'config/api': ['requests_max'],
    'config/region': ['name'],
    'bucket/photos/tags': ['team'],
  }
  t.same(changed(fields), none)
})

t.test('what decides what is kept is asked about in a bucket that is there', async t => {
  const created = ['bucket/new/bucket-lifecycle', 'bucket/photos/bucket-lifecycle']
  t.same(asked({ bucketsCreated: ['new'], created }), { ...none, losses: ['bucket/photos/bucket-lifecycle'] })
  t.same(asked({ removed: ['bucket/photos/bucket-lifecycle', 'bucket/photos/object-lock'] }), {
    ...none,
    losses: ['bucket/photos/object-lock'],
  })
})
