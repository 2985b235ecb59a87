/** `mirror --watch` on a folder that changes, against the real server. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { until as comesTrue, temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { runSvcctl } from '../run.ts'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer()
t.teardown(() => server.stop())
const { run, folder, environment } = createSession(temporaryFolder(t))
await run(['alias', 'set', 'home', server.endpoint, 'admin'], { env: { SVCCTL_SECRET_KEY: 'change-me-please' } })
await run(['mb', 'home/watched'])

/** Long enough for a machine that does something else; what is waited for ends it. */
const patienceMs = 120_000

async function until(t: Test, what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  await comesTrue(isSo, { what, withinMs: patienceMs })
  t.pass(what)
}

function start(t: Test, args: readonly string[]) {
  const said = { stdout: '', stderr: '' }
  const into = (name: keyof typeof said) =>
    new Writable({
      write(chunk, _, done) {
        said[name] += chunk
        done()
      },
    })
  const interruption = new AbortController()
  const ended = runSvcctl(args, {
    stdin: new PassThrough(),
    stdout: into('stdout'),
    stderr: into('stderr'),
    env: environment,
    cwd: folder,
    signal: interruption.signal,
  })
  t.teardown(async () => {
    interruption.abort()
    await ended
  })
  return {
    said,
    ended,
    async end() {
      interruption.abort()
      return ended
    },
  }
}

const write = (path: string, content: string) => {
  mkdirSync(join(folder, path, '..'), { recursive: true })
  writeFileSync(join(folder, path), content)
}
const keysIn = async (target: string) => {
  const { code, records } = await run(['ls', '-r', '--json', target])
  return code === 0 ? records.map(({ key }) => key).join(' ') : ''
}
const contentOf = async (target: string) => (await run(['cat', target])).stdout

t.test('a folder is followed: files and folders that come, change and go', async t => {
  write('site/a', 'first a')
  write('site/b', 'first b')
  write('site/left/out.tmp', 'x')
  const options = ['--overwrite', '--remove', '--exclude', '**/*.tmp', '--watch-interval', '1h']
  const watching = start(t, ['mirror', '--watch', ...options, 'site', 'home/watched/www'])
  await until(t, 'the first comparison', () => watching.said.stdout.includes('Watching '))
  t.equal(await keysIn('home/watched/www'), 'www/a www/b')
  write('site/c', 'c')
  write('site/sub/deep/d', 'd')
  write('site/sub/e.tmp', 'e')
  await until(t, 'what comes', async () => (await keysIn('home/watched/www')) === 'www/a www/b www/c www/sub/deep/d')
  write('site/a', 'other a')
  await until(t, 'what changes, of the same size', async () => (await contentOf('home/watched/www/a')) === 'other a')
  rmSync(join(folder, 'site/b'))
  renameSync(join(folder, 'site/sub'), join(folder, 'site/renamed'))
  const after = 'www/a www/c www/renamed/deep/d'
  await until(t, 'what goes, and a folder with another name', async () => (await keysIn('home/watched/www')) === after)

  // A key that no server takes, and what is all right beside it.
  const long = ['x', ...Array.from({ length: 6 }, () => 'long'.repeat(60)), 'file']
  write(join('site', ...long), 'too long')
  write('site/g', 'g')
  await until(t, 'a failure is told', () => watching.said.stderr.includes('KeyTooLongError'))
  await until(t, 'and the rest goes on', async () => (await contentOf('home/watched/www/g')) === 'g')
  rmSync(join(folder, 'site/x'), { recursive: true })
  write('site/h', 'h')
  await until(t, 'afterwards, too', async () => (await contentOf('home/watched/www/h')) === 'h')

  for (const name of ['a', 'c', 'g', 'h', 'renamed', 'left']) rmSync(join(folder, 'site', name), { recursive: true })
  await until(t, 'an empty folder', () => watching.said.stderr.includes('The source is empty'))
  t.not(await keysIn('home/watched/www'), '', 'is not mirrored without --yes')
  write('site/h', 'h')
  await until(t, 'but one file makes the difference', async () => (await keysIn('home/watched/www')) === 'www/h')

  t.equal(await watching.end(), 0)
  t.match(watching.said.stdout, /Watched for \S+: \d+ copied, \d+ removed, [1-9]\d* failed\.\n$/)
})

t.test('another folder in its place ends it, and nothing of that one is copied', async t => {
  write('replaced/a', 'a')
  const options = ['--yes', '--overwrite', '--remove', '--watch-interval', '1s']
  const watching = start(t, ['mirror', '--watch', ...options, 'replaced', 'home/watched/replaced'])
  await until(t, 'the first comparison', () => watching.said.stdout.includes('Watching '))
  // Both at once, as far as anybody sees who is asked in between.
  write('replacing/z', 'z')
  renameSync(join(folder, 'replaced'), join(folder, 'replaced.old'))
  renameSync(join(folder, 'replacing'), join(folder, 'replaced'))
  t.equal(await watching.ended, 1, 'it ends by itself')
  t.match(watching.said.stderr, /is not the folder that was watched.*Start the mirror again/s)
  t.match(watching.said.stdout, /Watched for \S+: 1 copied, 0 removed, 0 failed\.\n$/)
  t.equal(await keysIn('home/watched/replaced'), 'replaced/a', 'what was there is what is there')

  const again = start(t, ['mirror', '--watch', ...options, 'replaced', 'home/watched/replaced'])
  await until(t, 'which may be mirrored then', () => again.said.stdout.includes('Watching '))
  t.equal(await keysIn('home/watched/replaced'), 'replaced/z')
  t.equal(await again.end(), 0)
})

t.test('a link to a folder is that folder, wherever it leads later', async t => {
  write('release-1/a', 'a')
  for (let index = 0; index < 200; index++) write(`release-2/many-${index}`, 'x')
  symlinkSync('release-1', join(folder, 'release'))
  const watching = start(t, ['mirror', '--watch', '--watch-interval', '1s', 'release', 'home/watched/release'])
  await until(t, 'the first comparison', () => watching.said.stdout.includes('Watching '))
  write('release-1/b', 'b')
  await until(t, 'a link is followed', async () => (await keysIn('home/watched/release')) === 'release/a release/b')
  symlinkSync('release-2', join(folder, 'release.new'))
  renameSync(join(folder, 'release.new'), join(folder, 'release'))
  t.equal(await watching.ended, 1)
  t.equal(await keysIn('home/watched/release'), 'release/a release/b', 'what it leads to then is another one')
})

t.test('another folder of that name removes nothing', async t => {
  write('disk/a', 'a')
  const options = ['--yes', '--remove', '--watch-interval', '1s']
  const watching = start(t, ['mirror', '--watch', ...options, 'disk', 'home/watched/disk'])
  await until(t, 'the first comparison', () => watching.said.stdout.includes('Watching '))
  renameSync(join(folder, 'disk'), join(folder, 'elsewhere'))
  await until(t, 'it is missed', () => watching.said.stderr.includes('There is no file or folder'))
  mkdirSync(join(folder, 'disk'))
  await until(t, 'and not taken for another', () => watching.said.stderr.includes('is not the folder that was watched'))
  t.equal(await keysIn('home/watched/disk'), 'disk/a')
  t.equal(await watching.ended, 1)
})

t.test('without --overwrite and --remove nothing is replaced or removed; differences are reported once', async t => {
  write('notes/a', 'mine')
  await run(['cp', 'notes/a', 'home/watched/notes/a'])
  write('notes/a', 'mine, later')
  const watching = start(t, ['mirror', '--watch', '--json', '--watch-interval', '1s', 'notes', 'home/watched/notes'])
  await until(t, 'the first comparison', () => watching.said.stdout.includes('"watching"'))
  write('notes/b', 'b')
  await until(t, 'what comes', async () => (await contentOf('home/watched/notes/b')) === 'b')
  await run(['rm', 'home/watched/notes/b'])
  await until(t, 'the interval finds what nobody told', async () => (await contentOf('home/watched/notes/b')) === 'b')
  rmSync(join(folder, 'notes/b'))
  write('notes/c', 'c')
  await until(t, 'what comes then', async () => (await contentOf('home/watched/notes/c')) === 'c')
  t.equal(await watching.end(), 0)
  t.equal(await contentOf('home/watched/notes/b'), 'b')
  t.equal(await contentOf('home/watched/notes/a'), 'mine')
  const records = watching.said.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  t.equal(records.filter(({ status }) => status === 'differs').length, 1)
  t.match(records.at(-1), { status: 'watched', copied: 3, removed: 0, failed: 0 })
  t.match(await run(['mirror', '--watch', 'home/watched/notes', 'back']), { code: 2, stderr: /from a folder/ })
  t.match(await run(['mirror', '--watch', '--dry-run', 'notes', 'home/watched/notes']), { code: 2 })
  t.match(await run(['mirror', '--watch', 'none', 'home/watched/notes']), { code: 3 })
  t.match(await run(['mirror', '--watch', '--watch-interval', '5ms', 'notes', 'home/watched/n']), { code: 2 })
})
