/** The kinds of credentials whose last use is recorded: temporary ones would leave a document each for ever. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { recordTable } from 'svc/plugins/storage/api'
import { parseDocumentKey } from 'svc/plugins/store/api'
import t from 'tap'
import { startServer } from '../testing.ts'

const server = await startServer()
t.teardown(() => server.stop())
const { users, kernel, root } = server

t.test('the last use of access keys is recorded, that of users and sessions is not', async t => {
  await root.send(new CreateBucketCommand({ Bucket: 'photos' }))
  await root.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a', Body: 'x' }))
  await users.createUser({ accessKey: 'ada', secretKey: 'secret-of-ada', policyNames: ['readwrite'] })
  const caller = { identity: (await users.describeIdentity('ada'))!, isAllowed: () => true }
  const session = await users.createSession(caller.identity, { sessionName: 'build-7', durationSeconds: 900 })
  const made = await users.createAccessKey(caller, {})
  const read = (keys: Parameters<typeof server.as>[0]) =>
    server.as(keys).send(new GetObjectCommand({ Bucket: 'photos', Key: 'a' }))
  await read({ accessKey: 'ada', secretKey: 'secret-of-ada' })
  await read(session)
  await read({ accessKey: made.key.accessKey, secretKey: made.secretKey })
  const kept = async () =>
    kernel.services.storage.scan(
      Buffer.from([recordTable.document]),
      Buffer.from([recordTable.document + 1]),
      cursor => {
        const ids: string[] = []
        while (cursor.next()) {
          const place = parseDocumentKey(Buffer.from(cursor.key))
          if (place?.collection === 'iam-last-use') ids.push(place.id)
        }
        return ids
      },
    )
  // Uses are written together, some seconds after the first one.
  for (let attempt = 0; attempt < 900 && (await kept()).length === 0; attempt++) await sleep(100)
  t.same(await kept(), [made.key.accessKey])
})
