import { mkdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAdminClient } from './admin.ts'
import { readTree, requireProgram, run, sorted, writeTree } from './clients.ts'
import { accessKey, region, secretKey, startServer, withMasterKey } from './server.ts'

const { path: program, skip } = requireProgram('rclone')
const server = await startServer({ environment: withMasterKey })
t.teardown(() => server.remove())

const folder = join(server.folder, 'rclone')
mkdirSync(folder)
const environment = {
  RCLONE_CONFIG: '/dev/null',
  RCLONE_CONFIG_T_TYPE: 's3',
  RCLONE_CONFIG_T_PROVIDER: 'Other',
  RCLONE_CONFIG_T_ENDPOINT: server.endpoint,
  RCLONE_CONFIG_T_ACCESS_KEY_ID: accessKey,
  RCLONE_CONFIG_T_SECRET_ACCESS_KEY: secretKey,
  RCLONE_CONFIG_T_REGION: region,
  RCLONE_CONFIG_T_FORCE_PATH_STYLE: 'true',
}
// One retry: a failure must be seen, not hidden by the client's patience.
const rclone = (...args: string[]) =>
  run(program, ['--retries', '1', '--low-level-retries', '1', ...args], server, { environment, folder })
const succeeds = async (t: Test, ...args: string[]) => {
  const outcome = await rclone(...args)
  t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
  return outcome
}

t.test('rclone', { skip }, async t => {
  const tree = join(folder, 'tree')
  const hashes = writeTree(tree, 31_000_000)
  const parts = ['--s3-upload-cutoff', '8M', '--s3-chunk-size', '8M']

  t.test('synchronizes a folder with odd names, and its own check finds no difference', async t => {
    await succeeds(t, 'mkdir', 't:harbour')
    await succeeds(t, 'sync', ...parts, 'tree', 't:harbour/tree')
    t.match((await succeeds(t, 'check', 'tree', 't:harbour/tree')).stderr, /0 differences found/)
    t.match((await succeeds(t, 'check', '--download', 'tree', 't:harbour/tree')).stderr, /0 differences found/)
    await succeeds(t, 'copy', 't:harbour/tree', 'back')
    t.same(sorted(readTree(join(folder, 'back'))), sorted(hashes))
    const kept = statSync(join(folder, 'back/plain.txt')).mtimeMs - statSync(join(tree, 'plain.txt')).mtimeMs
    t.ok(Math.abs(kept) < 1, 'the modification time travels as metadata')
  })

  t.test('a changed time is written by a copy onto itself, a removed file is removed', async t => {
    utimesSync(join(tree, 'plain.txt'), 1_000_000_000, 1_000_000_000)
    rmSync(join(tree, 'with space.txt'))
    const { stderr } = await succeeds(t, 'sync', '-v', 'tree', 't:harbour/tree')
    t.match(stderr, /Updated modification time/)
    t.match(stderr, /Deleted:\s+1 \(files\)/)
    t.match((await succeeds(t, 'lsl', 't:harbour/tree/plain.txt')).stdout, /2001-09-09/)
    t.match((await succeeds(t, 'sync', '-v', 'tree', 't:harbour/tree')).stderr, /There was nothing to transfer/)
  })

  t.test('copies and moves on the server, large ones in parts', async t => {
    await succeeds(t, 'copyto', '--s3-copy-cutoff', '8M', 't:harbour/tree/large.bin', 't:harbour/again.bin')
    await succeeds(t, 'moveto', 't:harbour/again.bin', 't:harbour/moved.bin')
    const listing = (await succeeds(t, 'lsf', '--format', 'sp', 't:harbour')).stdout
    t.match(listing, /31000000;moved\.bin/)
    t.notMatch(listing, /again\.bin/)
  })

  t.test('streams standard input of unknown length', async t => {
    const outcome = await run(program, ['rcat', ...parts, 't:harbour/stream.bin'], server, {
      environment,
      folder,
      input: Buffer.alloc(9_000_000, 'streamed'),
    })
    t.equal(outcome.code, 0, 'rcat', { stderr: outcome.stderr })
    t.match((await succeeds(t, 'size', '--json', 't:harbour/stream.bin')).stdout, /"bytes":9000000/)
  })

  t.test('a bucket with a KMS key takes its uploads if they ask for aws:kms and name the key', async t => {
    const admin = createAdminClient(server)
    await admin.call('POST', '/kms/keys', { id: 'letters' })
    await succeeds(t, 'mkdir', 't:papers')
    await admin.call('PUT', '/buckets/papers/encryption', { algorithm: 'aws:kms', kmsKeyId: 'letters' })
    const upload = (key: string, ...more: string[]) => rclone('copyto', ...more, 'tree/plain.txt', `t:papers/${key}`)
    const keyOf = async (key: string) =>
      (await admin.call('GET', `/buckets/papers/objects/stat?key=${key}`)).encryption?.kmsKeyId
    t.match((await upload('plain')).stderr, /corrupted on transfer/)
    const kms = ['--s3-server-side-encryption', 'aws:kms']
    t.equal((await upload('default', ...kms)).code, 0)
    t.equal(await keyOf('default'), 'wire', 'not the key of the bucket')
    t.equal((await upload('named', ...kms, '--s3-sse-kms-key-id', 'letters')).code, 0)
    t.equal(await keyOf('named'), 'letters')
  })

  t.test('purges', async t => {
    await succeeds(t, 'purge', 't:harbour')
    t.notMatch((await succeeds(t, 'lsd', 't:')).stdout, /harbour/)
  })
})
