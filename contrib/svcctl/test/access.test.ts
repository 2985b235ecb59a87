/** `svcctl access`: rules that are read, changed, tested and stored. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import 'svc/plugins/access-rules/api'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer()
t.teardown(() => server.stop())
const { run, folder } = createSession(temporaryFolder(t))
await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], {
  env: { SVCCTL_SECRET_KEY: 'change-me-please' },
})
for (const bucket of ['family', 'other']) await run(['mb', `home/${bucket}`])
const access = (line: string) => run(['access', ...line.split(' ')])
const write = (name: string, content: unknown) => {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
}
const public1 = { id: 'public', effect: 'allow', principals: ['*'], actions: ['read'] }
const ada = { id: 'ada', effect: 'allow', principals: ['ada'], actions: ['read'] }

t.test('rules that were read are stored only if nobody has changed them since', async t => {
  write('ada.json', [ada])
  write('public.json', [public1])
  t.equal((await access('set home/family ada.json')).code, 0)
  write('mine.json', (await access('get home/family')).stdout)
  t.equal((await access('set home/family public.json')).code, 0, 'a list has no ETag: it overwrites')

  const refused = await access('set home/family mine.json')
  t.equal(refused.code, 5)
  const [now] = (await access('get home/family --json')).records as [{ etag: string; rules: { id: string }[] }]
  t.match(
    refused.stderr,
    `The rules of family have changed since (ETag is now "${now.etag}"): read them with svcctl access get, and try again.`,
  )
  t.same(
    now.rules.map(({ id }) => id),
    ['public'],
    'the change of the other is kept',
  )

  t.equal((await access(`set home/family mine.json --if-match ${now.etag}`)).code, 0, 'an explicit ETag wins')
  t.equal((await access('set home/family public.json')).code, 0)
  t.equal((await access('set home/family mine.json --if-match *')).code, 0, 'any rules are overwritten')
  t.equal((await access('set home/other mine.json')).code, 0, 'the ETag of another bucket says nothing of this one')
  write('empty.json', (await access('get home/family')).stdout.replace(/"rules": \[[\s\S]*?\n {2}\]/, '"rules": []'))
  t.equal((await access('set home/family empty.json')).code, 0)
  t.equal((await access('preset home/family private --if-match 0123')).code, 5)
})

t.test('a draft is tested and checked without storing it', async t => {
  write('none.json', [])
  write('draft.json', [ada, { ...public1, match: { type: 'prefix', pattern: 'open/' } }])
  write('wrong.json', [{ ...public1, effect: 'alow' }])
  t.equal((await access('set home/family none.json')).code, 0)
  t.match((await access('test home/family open/a')).stdout, /^denied {3}s3:GetObject open\/a: No policy applies/m)
  const tested = await access('test home/family open/a b --rules draft.json')
  t.equal(tested.code, 0, tested.stderr)
  t.match(tested.stdout, /^allowed {2}s3:GetObject open\/a: The access rule "public" allows it\.$/m)
  t.match(tested.stdout, /^denied {3}s3:GetObject b: No policy and no access rule allows it\.$/m)
  const hidden = [{ ...public1, id: 'no', effect: 'deny', priority: 1 }, public1]
  t.match(
    (await run(['access', 'test', 'home/family', 'a', '--rules', '-'], { input: JSON.stringify(hidden) })).stdout,
    /"no" denies/,
  )
  const wrong = await access('test home/family a --rules wrong.json')
  t.equal(wrong.code, 1)
  t.match(wrong.stderr, /invalid_access_rule/)

  const checked = await access('set home/family draft.json --dry-run')
  t.equal(checked.code, 0, checked.stderr)
  t.match(checked.stdout, 'family could have these 2 access rules; nothing was stored.')
  t.match(checked.stderr, '"public" lets every client read objects')
  t.equal((await access('set home/family wrong.json --dry-run')).code, 1)
  t.equal((await access('set home/family draft.json --dry-run --if-match 0123')).code, 5)
  t.equal((await access('block-public home/family on')).code, 0)
  t.equal((await access('set home/family draft.json --dry-run')).code, 4, 'refused as it would be')
  t.match((await access('test home/family open/a --rules draft.json')).stdout, /but public access is blocked/)
  t.equal((await access('block-public home/family off')).code, 0)
  t.match((await access('get home/family --json')).records, [{ rules: [] }])
})
