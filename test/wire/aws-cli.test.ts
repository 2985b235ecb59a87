/** The AWS command line, every version that is installed: the system's own and any other on the PATH. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { bytesOf, findPrograms, readTree, requireProgram, run, sha256, sorted, writeTree } from './clients.ts'
import { startServer, workerCount } from './server.ts'

// About fifty commands of a second each, for each version.
t.setTimeout(400_000)
const { skip } = requireProgram('aws')
const server = await startServer()
t.teardown(() => server.remove())

// With workers other threads answer what one has stored: one version shows that, by what it does over many connections.
const isBrief = workerCount > 0 && process.env.TEST_LONG === undefined
const elsewhere = { skip: isBrief && 'sdk-js.test.ts shows it with workers' }

for (const [index, program] of findPrograms('aws')
  .slice(0, isBrief ? 1 : undefined)
  .entries()) {
  const bucket = `aws-cli-${index}`
  const folder = join(server.folder, bucket)
  mkdirSync(folder, { recursive: true })
  // Version 1 presigns in the old form unless it is told not to; version 2 has no other.
  const settings = join(folder, 'config')
  writeFileSync(settings, '[default]\ns3 =\n    signature_version = s3v4\n')
  const environment = { AWS_CONFIG_FILE: settings }
  const aws = (...args: string[]) =>
    run(program, ['--endpoint-url', server.endpoint, ...args], server, { folder, environment })
  const succeeds = async (t: Test, ...args: string[]) => {
    const outcome = await aws(...args)
    t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
    return outcome.stdout
  }

  t.test(program, { skip }, async t => {
    t.test('buckets are made, once more without a change, and listed', async t => {
      await succeeds(t, 's3', 'mb', `s3://${bucket}`)
      t.match(await succeeds(t, 's3', 'ls'), new RegExp(`${bucket}\\n`))
      await succeeds(t, 's3', 'mb', `s3://${bucket}`)
      const location = await succeeds(t, 's3api', 'get-bucket-location', '--bucket', bucket, '--output', 'json')
      t.same(JSON.parse(location), { LocationConstraint: null })
    })

    t.test('a file of 100 MB goes there in parts and comes back whole', async t => {
      const bytes = bytesOf(bucket, 100_000_000)
      writeFileSync(join(folder, 'large.bin'), bytes)
      await succeeds(t, 's3', 'cp', '--no-progress', 'large.bin', `s3://${bucket}/large.bin`)
      const head = JSON.parse(
        await succeeds(t, 's3api', 'head-object', '--bucket', bucket, '--key', 'large.bin', '--output', 'json'),
      )
      t.equal(head.ContentLength, 100_000_000)
      t.match(head.ETag, /^"[0-9a-f]{32}-12"$/, 'twelve parts of 8 MiB')
      await succeeds(t, 's3', 'cp', '--no-progress', `s3://${bucket}/large.bin`, 'large.back')
      t.equal(sha256(readFileSync(join(folder, 'large.back'))), sha256(bytes))
      // Version 2 would otherwise ask for the tags of the source, which are not served yet; version 1 never does.
      const { stdout: version } = await aws('--version')
      const properties = version.startsWith('aws-cli/1') ? [] : ['--copy-props', 'metadata-directive']
      const [from, to] = [`s3://${bucket}/large.bin`, `s3://${bucket}/copies/large.bin`]
      await succeeds(t, 's3', 'cp', '--no-progress', ...properties, from, to)
      const copy = await succeeds(
        t,
        's3api',
        'head-object',
        '--bucket',
        bucket,
        '--key',
        'copies/large.bin',
        '--output',
        'json',
      )
      t.equal(JSON.parse(copy).ContentLength, 100_000_000, 'the copy on the server, part by part')
      const uploads = await succeeds(t, 's3api', 'list-multipart-uploads', '--bucket', bucket, '--output', 'json')
      t.notMatch(uploads, /UploadId/, 'no upload is left open')
    })

    t.test('a folder with odd names is synchronized both ways', async t => {
      const there = join(folder, 'tree')
      const hashes = writeTree(there, 9_000_000)
      await succeeds(t, 's3', 'sync', '--no-progress', 'tree', `s3://${bucket}/tree`)
      t.equal(
        await succeeds(t, 's3', 'sync', '--no-progress', 'tree', `s3://${bucket}/tree`),
        '',
        'nothing to do twice',
      )
      await succeeds(t, 's3', 'sync', '--no-progress', `s3://${bucket}/tree`, 'back')
      t.same(sorted(readTree(join(folder, 'back'))), sorted(hashes))
      rmSync(join(there, 'plain.txt'))
      await succeeds(t, 's3', 'sync', '--no-progress', '--delete', 'tree', `s3://${bucket}/tree`)
      t.notMatch(await succeeds(t, 's3', 'ls', '--recursive', `s3://${bucket}/tree/`), /plain\.txt/)
      t.match(await succeeds(t, 's3', 'ls', `s3://${bucket}/tree/`), /PRE deep\/\n/)
    })

    t.test('a presigned address works without credentials and only unchanged', elsewhere, async t => {
      writeFileSync(join(folder, 'signed.txt'), 'for whom it may concern')
      await succeeds(t, 's3', 'cp', '--no-progress', 'signed.txt', `s3://${bucket}/with space/signed.txt`)
      const url = (
        await succeeds(t, 's3', 'presign', `s3://${bucket}/with space/signed.txt`, '--expires-in', '60')
      ).trim()
      t.equal(await (await fetch(url)).text(), 'for whom it may concern')
      t.equal((await fetch(url.replace('signed.txt', 'other.txt'))).status, 403)
      t.equal((await fetch(url.replace(/\?.*/, ''))).status, 403, 'and nothing without a signature')
    })

    t.test('metadata, ranges and conditions', elsewhere, async t => {
      const key = ['--bucket', bucket, '--key', 'meta.txt']
      writeFileSync(join(folder, 'meta.txt'), '0123456789')
      await succeeds(
        t,
        's3api',
        'put-object',
        ...key,
        '--body',
        'meta.txt',
        '--content-type',
        'text/x-odd',
        '--metadata',
        'colour=blue',
      )
      const head = JSON.parse(await succeeds(t, 's3api', 'head-object', ...key, '--output', 'json'))
      t.match(head, { ContentType: 'text/x-odd', Metadata: { colour: 'blue' } })
      await succeeds(t, 's3api', 'get-object', ...key, '--range', 'bytes=2-4', 'range.out')
      t.equal(readFileSync(join(folder, 'range.out'), 'utf8'), '234')
      const changed = await aws('s3api', 'get-object', ...key, '--if-match', '"0"', 'never.out')
      t.not(changed.code, 0)
      t.match(changed.stderr, /PreconditionFailed|412/)
    })

    t.test('errors have the codes and messages of S3', elsewhere, async t => {
      const secret = await run(program, ['--endpoint-url', server.endpoint, 's3', 'ls'], server, {
        environment: { AWS_SECRET_ACCESS_KEY: 'not-the-secret' },
      })
      t.match(secret.stderr, /SignatureDoesNotMatch/)
      const key = await run(program, ['--endpoint-url', server.endpoint, 's3', 'ls'], server, {
        environment: { AWS_ACCESS_KEY_ID: 'NOBODY' },
      })
      t.match(key.stderr, /InvalidAccessKeyId/)
      t.match((await aws('s3', 'ls', 's3://no-such-bucket-here')).stderr, /NoSuchBucket/)
      t.match((await aws('s3api', 'get-object', '--bucket', bucket, '--key', 'nothing', 'x')).stderr, /NoSuchKey/)
      t.match((await aws('s3', 'rb', `s3://${bucket}`)).stderr, /BucketNotEmpty/)
    })

    t.test('a bucket goes with all that is in it', async t => {
      await succeeds(t, 's3', 'rb', '--force', `s3://${bucket}`)
      t.notMatch(await succeeds(t, 's3', 'ls'), bucket)
    })
  })
}
