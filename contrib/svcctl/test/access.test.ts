/** `svcctl access`: rules that are read, changed, tested and stored. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import 'svc/plugins/access-rules/api'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { startServer } from './server.ts'
import { createSession, root, runChild } from './session.ts'

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

t.test('the examples of the documentation do what it says', async t => {
  const readme = readFileSync(join(root, 'plugins/access-rules/README.md'), 'utf8')
  const [first, pictures, drop] = [...readme.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => text!)
  const set = async (text: string) => {
    const { code, stderr } = await run(['access', 'set', 'home/family', '-'], { input: text })
    t.equal(code, 0, stderr)
  }
  const curl = async (key: string, ...options: string[]) => {
    const args = ['-s', '-o', '/dev/null', '-w', '%{http_code}', ...options, `${server.endpoint}/family/${key}`]
    return (await runChild('curl', args, { cwd: folder, env: { PATH: process.env.PATH ?? '' } })).output
  }
  write('a.jpg', 'a')
  await run(['cp', 'a.jpg', 'home/family/images/a.jpg'])
  await set(pictures!)
  t.equal(await curl('images/a.jpg', '-e', 'https://www.example.org/page'), '200')
  t.equal(await curl('images/a.jpg', '-e', 'https://evil.example/'), '403')
  t.equal(await curl('images/a.jpg'), '200')

  const upload = ['-T', 'a.jpg']
  const fresh = ['-H', 'If-None-Match: *']
  await set(drop!)
  t.equal(await curl('drop/a', ...upload, ...fresh), '403', 'before the hour')
  const open = (fromMs: number, toMs: number) =>
    drop!
      .replace('2030-01-31T08:00:00Z', new Date(fromMs).toISOString())
      .replace('2030-01-31T09:00:00Z', new Date(toMs).toISOString())
  const hourMs = 3_600_000
  await set(open(Date.now() - hourMs, Date.now() + hourMs))
  t.equal(await curl('drop/a', ...upload, ...fresh), '200')
  t.equal(await curl('drop/a', ...upload, ...fresh), '412', 'nothing is overwritten')
  t.equal(await curl('drop/a', ...upload), '403', 'also not without the header')
  t.equal(await curl('drop/a', ...upload, '-H', 'If-None-Match: "0123"'), '403')
  t.equal(await curl('drop/a'), '403', 'and nothing is read')
  await set(open(Date.now() - 2 * hourMs, Date.now() - hourMs))
  t.equal(await curl('drop/b', ...upload, ...fresh), '403', 'after the hour')

  await run(['admin', 'user', 'add', 'home', 'ada'], { env: { SVCCTL_NEW_SECRET_KEY: 'a-secret-of-ada' } })
  t.equal((await run(['admin', 'group', 'create', 'home', 'staff'])).code, 0)
  t.equal((await run(['admin', 'group', 'member', 'add', 'home', 'staff', 'ada'])).code, 0)
  await set(first!)
  const tested = async (line: string) => (await access(`test home/family ${line} --principal ada`)).stdout
  t.match(await tested('home/ada/ --action list'), /^allowed .*own-home/)
  t.match(await tested('home/ --action list'), /^denied/)
  t.match(await tested('home/bob/a'), /^denied/)
})

t.test('blocks of public access: which one refuses, its flags, and what is public without it', async t => {
  write('public.json', [public1])
  write('none.json', [])
  t.equal((await access('set home/other none.json')).code, 0)
  t.equal((await access('set home/family public.json')).code, 0)
  t.match((await access('block-public home/family on --mode ignore')).stderr, /RestrictPublicBuckets alone/)
  t.match((await access('block-public home/family')).stdout, 'Public access to family is not blocked.')
  await server.kernel.services.objectOwnership.setPublicAccessBlock('family', {
    blockPublicAcls: false,
    ignorePublicAcls: false,
    blockPublicPolicy: true,
    restrictPublicBuckets: false,
  })
  t.match((await access('block-public home/family')).stdout, 'its public access block has BlockPublicPolicy.')
  t.match((await access('set home/family public.json')).stderr, 'svcctl access block-public ALIAS/family off removes')
  t.equal((await access('block-public home/family off')).code, 0)
  t.equal((await access('block-public home on')).code, 0)
  t.match((await access('set home/family public.json')).stderr, 'svcctl access block-public ALIAS off removes')
  t.match((await access('block-public home off')).stderr, /^Public now: family\.$/m)
  t.equal((await access('simple home/family download')).code, 0)
  t.match((await access('preset home/family private')).stderr, 'svcctl admin bucket policy delete ALIAS/family removes')
  t.equal((await access('simple home/family remove')).code, 0)
  t.notMatch((await access('preset home/family private')).stderr, 'still public')
})

t.test('messages say what to write, and each place once', async t => {
  t.match(
    (await access('preset home/family public-prefix --match public/**')).stderr,
    /TYPE:PATTERN: write glob:public/,
  )
  const refused = async (...rules: readonly object[]) => {
    write('wrong.json', rules)
    return (await access('set home/family wrong.json')).stderr
  }
  const typo = await refused({ ...public1, descripton: 'x' })
  t.match(typo, /Rule "public", descripton: is no field of a rule: did you mean description\? \(/)
  t.equal(typo.split('descripton').length, 2, typo)
  const two = await refused({ ...public1, actions: ['reed'] }, { ...ada, actions: ['rite'] })
  t.equal(two.split('reed').length, 2, two)
  t.match(two, /rule "ada", actions\[0\]: "rite"/)
  t.match(await refused(public1, public1), /two rules have the id "public"/)
  t.match((await access('test home/family a --time tomorrow')).stderr, /"tomorrow" is no time: write 2030/)
  t.match((await access('test home/family a --principal nobody')).stderr, /Nobody has the access key "nobody"/)
})

t.test('the table of the audit names the rule that refused', async t => {
  write('deny.json', [{ ...ada, id: 'shut', principals: ['*'], effect: 'deny' }])
  t.equal((await access('set home/family deny.json')).code, 0)
  t.equal((await fetch(`${server.endpoint}/family/a`)).status, 403)
  const { stdout } = await run(['admin', 'audit', 'home', '--bucket', 'family', '--status', '403', '--limit', '5'])
  t.match(stdout, /DENIED BY +ACCESS RULE/)
  t.match(stdout, /access-rule +shut/)
})
