/** Access rules and blocks of public access where they could be got around: the Admin API, other threads, what was public before. */
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import t from 'tap'
import { adaSigner, allow, denied, deny, prefix, worldOf } from './access-rules-world.ts'
import { createClient } from './sdk.ts'
import { type Attempt, createSignedClient } from './signed-client.ts'

for (const workers of ['0', '2']) {
  t.test(`rules and blocks, with SVC_WORKERS=${workers}`, async t => {
    const { server, admin, client, said, anonymous, rules, ada, root } = await worldOf(t, workers)

    t.test('of changes under one ETag exactly one wins, however many threads take them', async t => {
      const { etag } = await admin.call('GET', '/buckets/photos/access-rules')
      const host = String(server.startup.console)
      const console = createSignedClient(Number(host.split(':')[1]))
      t.teardown(() => console.disconnect())
      const change = (id: string, ifMatch: string) =>
        console.send({
          method: 'PUT',
          path: '/api/v1/buckets/photos/access-rules',
          headers: { 'if-match': `"${ifMatch}"`, 'content-type': 'application/json' },
          body: JSON.stringify({ rules: [allow({ id })] }),
        })
      const answers = await Promise.all(Array.from({ length: 24 }, (_, index) => change(`r${index}`, etag)))
      const winners = answers.filter(({ status }) => status === 200)
      t.equal(winners.length, 1)
      t.equal(answers.filter(({ status }) => status === 412).length, 23)
      const stored = await admin.call('GET', '/buckets/photos/access-rules')
      t.equal(stored.etag, JSON.parse(winners[0]!.body.toString()).etag)
      t.same(stored.rules, JSON.parse(winners[0]!.body.toString()).rules)
    })

    t.test('the Admin API holds objects to the same rules', async t => {
      await rules(
        allow({
          principals: ['ada'],
          actions: ['read', 'list', 'write', 'delete'],
          match: { type: 'glob', pattern: 'public/**' },
        }),
        deny({ actions: ['read', 'list', 'write', 'delete'], ...prefix('secret/') }),
      )
      const console = createSignedClient(Number(String(server.startup.console).split(':')[1]))
      t.teardown(() => console.disconnect())
      const ask = async (method: string, path: string, body?: object) => {
        const [plain, query] = `/api/v1/buckets/photos/objects${path}`.split('?')
        const answer = await console.send({
          method,
          path: plain!,
          query,
          signer: adaSigner,
          ...(body === undefined
            ? {}
            : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
        })
        return { status: answer.status, text: answer.body.toString() }
      }
      const cases: readonly (readonly [
        method: string,
        path: (key: string) => string,
        body?: (key: string) => object,
      ])[] = [
        ['GET', key => `?prefix=${key.slice(0, 9)}`],
        ['GET', key => `/versions?key=${key}`],
        ['GET', key => `/stat?key=${key}`],
        ['GET', key => `/download?key=${key}`],
        ['POST', () => '/copy', key => ({ source: { bucket: 'photos', key }, key: 'public/copy' })],
        ['POST', () => '/share', key => ({ key })],
        ['POST', () => '/download-zip', key => ({ objects: [{ key }] })],
        ['POST', () => '/download-zip', key => ({ prefixes: [key.slice(0, 6)] })],
        ['DELETE', () => '', key => ({ objects: [{ key }] })],
        ['DELETE', () => '', key => ({ prefixes: [key.slice(0, 6)] })],
      ]
      for (const [method, path, body] of cases) {
        const [open, closed] = await Promise.all(
          ['public/a', 'secret/b'].map(key => ask(method, path(encodeURIComponent(key)), body?.(key))),
        )
        const what = `${method} ${path('KEY')} ${JSON.stringify(body?.('KEY') ?? '')}`
        t.match(String(open!.status), /^20[01]$/, what)
        // Of many, each is refused on its own.
        const isRefused = closed!.status === 403 || /"deleted":\[\].*access_denied/.test(closed!.text)
        t.ok(isRefused, `${what}: ${closed!.status}`, { text: closed!.text })
        t.notMatch(closed!.text, 'content of secret')
      }
      t.equal(await said({ method: 'HEAD', path: '/photos/secret/b' }), '200')
      for (const path of ['', '?prefix=', '?prefix=publi', '?delimiter=', '?prefix=%2Fpublic%2F'])
        t.equal((await ask('GET', path)).status, 403, path)
      for (const path of ['?prefix=public%2F&prefix=secret%2F', '?prefix[]=secret%2F&prefix=public%2F'])
        t.notMatch((await ask('GET', path)).text, 'secret/b', path)
      await client.send({ method: 'PUT', path: '/photos/public/a', body: 'content of public/a' })
    })

    t.test('rules go with their bucket', async t => {
      await client.send({ method: 'PUT', path: '/gone' })
      await admin.call('PUT', '/buckets/gone/access-rules', { rules: [allow({ actions: ['read', 'list'] })] })
      t.equal(await anonymous('/gone'), '200')
      await client.send({ method: 'DELETE', path: '/gone' })
      await client.send({ method: 'PUT', path: '/gone' })
      t.equal(await anonymous('/gone'), denied)
      t.same((await admin.call('GET', '/buckets/gone/access-rules')).rules, [])
    })

    t.test('a block closes what was public before, whatever made it public, and nothing else', async t => {
      for (const bucket of ['by-policy', 'by-list', 'by-rule']) {
        await client.send({ method: 'PUT', path: `/${bucket}` })
        await client.send({ method: 'PUT', path: `/${bucket}/a`, body: 'a' })
      }
      const statement = {
        Effect: 'Allow',
        Principal: '*',
        Action: 's3:GetObject',
        Resource: 'arn:aws:s3:::by-policy/*',
      }
      const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
      t.equal(await said({ method: 'PUT', path: '/by-policy', query: 'policy=', body: policy }), '204')
      const owner =
        '<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule></OwnershipControls>'
      t.equal(await said({ method: 'PUT', path: '/by-list', query: 'ownershipControls=', body: owner }), '200')
      const acl = { 'x-amz-acl': 'public-read' }
      t.equal(await said({ method: 'PUT', path: '/by-list/a', query: 'acl=', headers: acl }), '200')
      await admin.call('PUT', '/buckets/by-rule/access-rules', {
        rules: [allow(), { ...allow({ principals: ['bob'] }), id: 'named' }],
      })
      await admin.call('PUT', '/distributions/site', {
        id: 'site',
        aliases: ['www.example.test'],
        origin: { bucket: 'other' },
        defaultBehavior: { access: 'public' },
      })
      await client.send({ method: 'PUT', path: '/other/a', body: 'a' })
      const link = async (by: S3Client, bucket: string) => {
        const url = new URL(await getSignedUrl(by, new GetObjectCommand({ Bucket: bucket, Key: 'a' })))
        return { path: url.pathname, query: url.search.slice(1) }
      }
      const bob = createClient(server, { credentials: { accessKeyId: 'bob', secretAccessKey: 'secret-of-bob' } })
      t.teardown(() => bob.destroy())
      const closed: Partial<Attempt>[] = [
        ...['by-policy', 'by-list', 'by-rule'].map(bucket => ({ path: `/${bucket}/a` })),
        await link(ada, 'by-policy'),
        await link(ada, 'by-rule'),
        { path: '/a', headers: { host: 'www.example.test' } },
      ]
      const open = [await link(bob, 'by-rule'), await link(root, 'by-policy')]
      /** Over connections of their own, so that they come to every thread. */
      const statuses = async (attempts: readonly Partial<Attempt>[]) => {
        client.disconnect()
        const all = attempts.flatMap(one => Array.from({ length: 4 }, () => anonymous('', one)))
        return [...new Set((await Promise.all(all)).map(text => text.slice(0, 3)))].join(' ')
      }
      const check = async (status: string, what: string) => {
        t.equal(await statuses(closed), status, what)
        t.equal(await statuses(open), '200', `${what}: who is named keeps it`)
      }
      await check('200', 'public')
      for (const mode of ['reject', 'ignore']) {
        await admin.call('PUT', '/access/block-public', { enabled: true, mode })
        await check('403', `the cluster, ${mode}`)
        await admin.call('PUT', '/access/block-public', { enabled: false })
        await check('200', 'open again')
      }
      for (const enabled of [true, false]) {
        for (const bucket of ['by-policy', 'by-list', 'by-rule', 'other'])
          await admin.call('PUT', `/buckets/${bucket}/block-public`, { enabled })
        await check(enabled ? '403' : '200', `each bucket: ${enabled}`)
      }
    })
  })
}
