import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CreateBucketCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import t, { type Test } from 'tap'
import { mountSmallDisk } from '../services/small-disk.ts'
import { bytesOf, sha256 } from '../wire/clients.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'

const Bucket = 'full'
const mountedBytes = 320 << 20
const { folder: mount, skip } = mountSmallDisk(t, mountedBytes)

t.test('a full drive', { skip }, async t => {
  const drive = join(mount, 'drive')
  mkdirSync(drive)
  const server = await startServer({ drive })
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  await s3.send(new CreateBucketCommand({ Bucket }))

  const stored = new Map<string, string>()
  const put = async (Key: string, size: number) => {
    const Body = bytesOf(Key, size)
    await s3.send(new PutObjectCommand({ Bucket, Key, Body }))
    stored.set(Key, sha256(Body))
  }
  const refusal = { name: 'InsufficientStorage', $metadata: { httpStatusCode: 507 } }
  const refused = async (t: Test, send: () => Promise<unknown>, what: string) => {
    const error = await send().then(
      () => undefined,
      error => error,
    )
    t.match(error, refusal, what)
  }
  const fill = async (size: number, countMax: number) => {
    for (let count = 0; count < countMax; count++) {
      try {
        await put(`${size}/${count}`, size)
      } catch (error) {
        return error
      }
    }
    return undefined
  }
  const intact = async (t: Test) => {
    for (const [Key, hash] of stored) {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
      if (sha256(await Body!.transformToByteArray()) !== hash) t.fail(`${Key} is not what was stored`)
    }
    const listed: string[] = []
    for (let ContinuationToken: string | undefined; ; ) {
      const page = await s3.send(new ListObjectsV2Command({ Bucket, ContinuationToken }))
      for (const { Key } of page.Contents ?? []) listed.push(Key!)
      ContinuationToken = page.NextContinuationToken
      if (ContinuationToken === undefined) break
    }
    t.same(listed.sort(), [...stored.keys()].sort(), 'all of it and nothing else is listed and readable')
  }
  const removeHalf = async () => {
    const keys = [...stored.keys()].filter((_, index) => index % 2 === 0)
    for (let start = 0; start < keys.length; start += 1000) {
      const Objects = keys.slice(start, start + 1000).map(Key => ({ Key }))
      const { Errors } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
      t.equal(Errors, undefined, 'deletes work on a full drive')
    }
    for (const key of keys) stored.delete(key)
  }
  /** Space comes back when the deletes have reached the disk. */
  const writableAgain = async (t: Test, key: string) => {
    for (let attempt = 0; attempt < 900; attempt++) {
      try {
        await put(key, 300_000)
        return t.pass('writes work again')
      } catch {
        await sleep(100)
      }
    }
    return t.fail('writes never worked again')
  }

  const lineCount = (line: string) => server.log().split(line).length - 1
  /** Fills at the edge, each of which may find room for a few small bodies, so that the drive has room and is full once more. */
  let edgeFills = 0
  const fullLine = 'the drive is full: new data is refused'
  const roomLine = 'the drive has room again: new data is accepted'
  const health = async (probe: 'ready' | 'cluster') => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/svc/health/${probe}`)
    return { status: answer.status, body: (await answer.json()) as { checks: Record<string, string> } }
  }

  t.test('refuses bodies of every size with 507', async t => {
    t.match(await fill(2_000_000, mountedBytes / 2_000_000), refusal, 'large bodies fill it up')
    t.ok(stored.size > 10, `${stored.size} objects were stored before that`)
    await refused(t, () => put('one more', 2_000_000), 'and stay refused')
    const upload = new Upload({ client: s3, params: { Bucket, Key: 'parts', Body: bytesOf('parts', 12 << 20) } })
    await refused(t, () => upload.done(), 'parts of an upload')
    t.equal((await s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads, undefined)
    t.match(await fill(4000, 40_000), refusal, 'small bodies fill the rest')
    await intact(t)
    let [cluster, ready] = [await health('cluster'), await health('ready')]
    // At the edge there is room for a few small bodies now and then: each try takes it.
    for (; edgeFills < 20 && !(cluster.status === 503 && ready.body.checks.storage !== 'ok'); edgeFills++) {
      t.match(await fill(4000, 40_000), refusal)
      ;[cluster, ready] = [await health('cluster'), await health('ready')]
    }
    for (let attempt = 0; attempt < 900 && lineCount(fullLine) <= lineCount(roomLine); attempt++) await sleep(100)
    // Large bodies are refused while there may be room for small ones. These take seconds, in which that is told, and then it is full again: once, and with each fill.
    const rooms = lineCount(roomLine)
    t.ok(rooms <= 1 + edgeFills)
    t.equal(lineCount(fullLine), 1 + rooms, 'the log says once that the drive is full, whatever is refused')
    t.match(cluster, { status: 503, body: { status: 'degraded', drivesOnline: 1, writeQuorum: false } })
    const checks = { storage: 'full: new data is refused' }
    t.match(ready, { status: 200, body: { checks } }, 'reads go on, and who asks learns that it is full')
  })

  t.test('frees the space of deleted objects and accepts new writes', async t => {
    await removeHalf()
    await writableAgain(t, 'after the deletes')
    await intact(t)
    for (let attempt = 0; attempt < 900 && lineCount(roomLine) < lineCount(fullLine); attempt++) await sleep(100)
    t.equal(lineCount(roomLine), lineCount(fullLine), 'the log says as often that it has room again as that it is full')
    t.ok(lineCount(fullLine) <= 2 + edgeFills, 'and not for each body')
    t.match(await health('cluster'), { status: 200, body: { status: 'ok', writeQuorum: true } })
    t.match(await health('ready'), { status: 200, body: { checks: { storage: 'ok' } } })
  })

  t.test('survives that another program takes the last byte', async t => {
    const filler = openSync(join(mount, 'filler'), 'w')
    const block = Buffer.alloc(1 << 20)
    try {
      for (;;) if (writeSync(filler, block) < block.length) break
    } catch (error) {
      t.match(error, { code: 'ENOSPC' })
    }
    closeSync(filler)
    t.equal(statfsSync(mount).bfree, 0, 'the disk is full to the last block')
    await refused(t, () => put('no room', 500_000), 'a large body')
    await refused(t, () => put('no room either', 100), 'a small body')
    await intact(t)
    rmSync(join(mount, 'filler'))
    await writableAgain(t, 'after the filler')
  })

  t.test('starts again, also after a crash while full', async t => {
    t.match(await fill(1_000_000, mountedBytes / 1_000_000), refusal)
    await server.kill()
    await server.start()
    await intact(t)
    await removeHalf()
    await writableAgain(t, 'after the restart')
    t.equal(await server.stop(), 0)
  })
})
