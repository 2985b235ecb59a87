import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { bytesOf, readTree, requireProgram, run, sha256, sorted, writeTree } from './clients.ts'
import { accessKey, region, secretKey, startServer } from './server.ts'

const { path: program, skip } = requireProgram('s3cmd')
const server = await startServer()
t.teardown(() => server.remove())

const folder = join(server.folder, 's3cmd')
mkdirSync(folder)
const host = `127.0.0.1:${server.port}`
const settings = [
  '--config=/dev/null',
  `--access_key=${accessKey}`,
  `--secret_key=${secretKey}`,
  `--host=${host}`,
  `--host-bucket=${host}`,
  `--region=${region}`,
  '--no-ssl',
  '--no-progress',
]
const s3cmd = (...args: string[]) => run(program, [...settings, ...args], server, { folder })
const succeeds = async (t: Test, ...args: string[]) => {
  const outcome = await s3cmd(...args)
  t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
  return outcome.stdout
}

t.test('s3cmd', { skip }, async t => {
  t.test('makes buckets, once more without a change, and lists them', async t => {
    await succeeds(t, 'mb', 's3://shelf')
    t.match(await succeeds(t, 'ls'), /s3:\/\/shelf/)
    await succeeds(t, 'mb', 's3://shelf')
  })

  t.test('uploads in parts, downloads the whole, and shows the size', async t => {
    const bytes = bytesOf('s3cmd', 21_000_000)
    writeFileSync(join(folder, 'large.bin'), bytes)
    await succeeds(t, 'put', '--multipart-chunk-size-mb=5', 'large.bin', 's3://shelf/large.bin')
    await succeeds(t, 'get', 's3://shelf/large.bin', 'large.back')
    t.equal(sha256(readFileSync(join(folder, 'large.back'))), sha256(bytes))
    t.match(await succeeds(t, 'du', 's3://shelf'), /^\s*21000000\s+1 objects/)
    t.notMatch(await succeeds(t, 'multipart', 's3://shelf'), /large\.bin/, 'no upload is left open')
  })

  t.test('synchronizes a folder with odd names both ways', async t => {
    const hashes = writeTree(join(folder, 'tree'), 2_000_000)
    await succeeds(t, 'sync', 'tree/', 's3://shelf/tree/')
    mkdirSync(join(folder, 'back'))
    await succeeds(t, 'sync', 's3://shelf/tree/', 'back/')
    t.same(sorted(readTree(join(folder, 'back'))), sorted(hashes))
    rmSync(join(folder, 'tree/plain.txt'))
    await succeeds(t, 'sync', '--delete-removed', 'tree/', 's3://shelf/tree/')
    t.notMatch(await succeeds(t, 'ls', '--recursive', 's3://shelf/tree/'), /plain\.txt/)
  })

  t.test('copies and moves on the server', async t => {
    await succeeds(t, 'cp', 's3://shelf/large.bin', 's3://shelf/copy of large.bin')
    await succeeds(t, 'mv', 's3://shelf/copy of large.bin', 's3://shelf/moved/large.bin')
    const listing = await succeeds(t, 'ls', '--recursive', 's3://shelf/')
    t.match(listing, /21000000\s+s3:\/\/shelf\/moved\/large\.bin/)
    t.notMatch(listing, /copy of/)
  })

  t.test('deletes, and a bucket only when it is empty', async t => {
    const refused = await s3cmd('rb', 's3://shelf')
    t.not(refused.code, 0)
    t.match(refused.stderr, /BucketNotEmpty/)
    await succeeds(t, 'del', '--recursive', '--force', 's3://shelf')
    t.equal(await succeeds(t, 'ls', '--recursive', 's3://shelf'), '')
    await succeeds(t, 'rb', 's3://shelf')
  })
})
