/** What people type before they know the commands: other names, other words, and what the help says about them. No server is asked. */
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { createSession } from './session.ts'

const { run } = createSession(temporaryFolder(t))

t.test('the help names the words that an option or an argument takes', async t => {
  const query = (await run(['admin', 'metrics', 'query', '--help'])).stdout.replace(/\s+/g, ' ')
  t.match(query, /--fn <function> .* \(raw, rate, increase, quantile\)/)
  t.match(query, /--agg <function> over all series \(none, sum, avg, min, max\)/)
  t.match(
    (await run(['admin', 'cluster', 'import', '--help'])).stdout,
    '--mode <mode>          default merge (merge, replace)',
  )
  t.match((await run(['admin', 'speedtest', '--help'])).stdout, /kind +of the test \(drive, object, net\)/)
  t.match(
    (await run(['admin', 'user', 'update', '--help'])).stdout.replace(/\s+/g, ' '),
    /--status <status> .*enabled, disabled/,
  )
})

t.test('a value that does not fit is answered with an example, and a near word with the one that is meant', async t => {
  const cases = [
    [['admin', 'trace', 'home', '--status', 'teapot'], /"teapot" does not fit: statuses and classes: `5xx,403`\./],
    [['admin', 'audit', 'home', '--status', '9xx'], /"9xx" does not fit: statuses and classes: `5xx,403`\./],
    [['admin', 'speedtest', 'home', 'network'], /Allowed choices are drive, object, net\.\n\(Did you mean net\?\)/],
  ] as const
  for (const [args, stderr] of cases) {
    const outcome = await run(args)
    t.match(outcome, { code: 2, stderr }, args.join(' '))
    t.notMatch(outcome.stderr, /\^\[/, 'no regular expression')
  }
})

t.test('distributions are listed, shown and removed by the words of S3 commands, too', async t => {
  for (const [other, name] of [
    ['ls', 'list'],
    ['show', 'get'],
    ['rm', 'remove'],
  ]) {
    t.match((await run(['dist', other, '--help'])).stdout, `Usage: svcctl dist ${name}|${other} `)
    t.match(await run(['dist', other, 'nowhere/site']), { code: 3, stderr: /nowhere/ }, 'it is executed')
  }
  for (const [word, meant] of [
    ['edit', 'dist get and dist set'],
    ['routes', 'dist resolve'],
    ['secret', 'dist rotate-secret'],
  ]) {
    t.match(await run(['dist', word]), { code: 2, stderr: `(Did you mean ${meant}?)` })
  }
})
