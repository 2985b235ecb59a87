/** Tables and lines of `svcctl admin` in terminals of any width. */
import stringWidth from 'fast-string-width'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { linesOf, tableOf } from '../admin/answer-view.ts'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const items = [
  { name: 'ada', description: 'writes programs for engines', size: 1_500_000, groups: ['staff', 'engines'] },
  { name: '测试用户', description: 'a name that takes two columns a letter', size: 12, groups: [] },
]
const wordsOf = (lines: readonly string[]) => lines.flatMap(line => line.split(' ')).filter(word => word !== '')

t.test('a table fits in its width, and no word is ever in two lines', t => {
  const whole = tableOf(items)
  t.equal(whole.length, 3)
  t.equal(whole[0], 'NAME      DESCRIPTION                             SIZE      GROUPS')
  const all = new Set(wordsOf(whole).flatMap(word => [word, `${word}:`]))
  for (let width = 8; width < 90; width++) {
    const lines = tableOf(items, { width })
    // The widest: `DESCRIPTION:` with a value behind it.
    if (width >= 35)
      t.ok(
        lines.every(line => stringWidth(line) <= width),
        `${width}: ${lines.join('\n')}`,
      )
    t.same(
      wordsOf(lines).filter(word => !all.has(word)),
      [],
      `words in ${width} columns`,
    )
  }
  t.same(tableOf(items, { width: 50 }), [
    'NAME      DESCRIPTION     SIZE      GROUPS',
    'ada       writes          1.43 MiB  staff, engines',
    '          programs for',
    '          engines',
    '测试用户  a name that     12 B      -',
    '          takes two',
    '          columns a',
    '          letter',
  ])
  t.same(tableOf(items.slice(0, 1), { width: 35 }), [
    'NAME:        ada',
    'DESCRIPTION: writes programs for',
    '             engines',
    'SIZE:        1.43 MiB',
    'GROUPS:      staff, engines',
  ])
  t.same(
    tableOf(items, { width: 35, isContinued: true }).filter(line => line === ''),
    ['', ''],
    'records of one page and of the next are apart',
  )
  t.same(tableOf(items.slice(0, 1), { isContinued: true }), [
    'ada  writes programs for engines  1.43 MiB  staff, engines',
  ])
  t.end()
})

t.test('long values go on below their beginning', t => {
  t.same(linesOf({ id: 'x', policies: ['readonly', 'uploaders', 'readwrite', 'diagnostics'] }, 40), [
    'id:       x',
    'policies: readonly, uploaders,',
    '          readwrite, diagnostics',
  ])
  t.same(linesOf({ drives: [{ path: '/mnt/a-rather-long-path', state: 'online' }] }, 28), [
    'drives:',
    '  PATH:  /mnt/a-rather-long-path',
    '  STATE: online',
  ])
  t.end()
})

t.test('commands use the width of the terminal, and none elsewhere', async t => {
  const server = await startServer()
  t.teardown(() => server.stop())
  const { run } = createSession(temporaryFolder(t))
  await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], {
    env: { SVCCTL_SECRET_KEY: 'change-me-please' },
  })
  const description = 'somebody with a rather long description of six words and more'
  await run(['admin', 'user', 'create', 'home', 'ada', '--description', description])
  const list = ['admin', 'user', 'list', 'home']
  const wide = (await run(list)).stdout.trimEnd().split('\n')
  t.equal(wide.length, 2)
  t.ok(wide[1]!.length > 80)
  const narrow = (await run(list, { columns: 80 })).stdout.trimEnd().split('\n')
  t.ok(narrow.length > 2)
  t.ok(narrow.every(line => line.length <= 80))
})
