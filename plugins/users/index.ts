/** Users, groups, named policies, access keys and sessions. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/iam/api'
import 'svc/plugins/http/api'
import 'svc/plugins/s3/api'
import { createAccessKeyDirectory } from './access-key-directory.ts'
import type { S3PlaceOf } from './admin/get-permissions.ts'
import { adminOperations } from './admin/operations.ts'
import type { UsersService } from './api.ts'
import { createChanges } from './changes.ts'
import { UsersConfig } from './config.ts'
import type { Context } from './context.ts'
import { declareDocuments } from './documents.ts'
import { createGroupDirectory } from './group-directory.ts'
import { DirectoryIdentity } from './identity.ts'
import { createKeyIndex } from './key-index.ts'
import { createLastUses } from './last-uses.ts'
import { createPolicyDirectory } from './policy-directory.ts'
import { Principals } from './principals.ts'
import { createSecretWatch } from './secret-watch.ts'
import { createSessions } from './sessions.ts'
import { createShareDirectory } from './share-directory.ts'
import { createShareRoom } from './share-room.ts'
import { createTransfer } from './transfer.ts'
import { createUserDirectory } from './user-directory.ts'

export default definePlugin({
  name: 'users',
  description: 'Users, groups, named policies and access keys.',
  requires: ['authSession', 'iam', 'policy', 'store'],
  optional: ['authSigv4', 's3'],
  provides: ['users'],
  internal: ['s3Place'],
  contributes: { 'admin.operation': adminOperations },
  config: UsersConfig,
  setup({ config, services, ports, log, contribute }) {
    const { iam, policy, store } = services
    const { clock, random } = ports
    const { owner } = iam
    const documents = declareDocuments(store, policy)
    const principals = new Principals({ documents, policy, clock, log, owner })
    const sessions = createSessions({ documents, iam, policy, clock, random })
    const secrets = createSecretWatch(documents, () => principals.doubt())
    contribute('iam.directory', 'users', {
      credentials: accessKey => principals.credentials(accessKey),
      sessionCredentials: sessions.credentials,
      watchSecrets: secrets.watch,
    })
    contribute('policy.source', 'users', { identityPolicies: DirectoryIdentity.policiesOf })
    const lastUses = createLastUses(documents, clock, log)
    contribute('s3.observer', 'users', ({ identity, timeMs }) => lastUses.note(identity, timeMs))
    contribute('http.observer', 'users', ({ identity, timeMs }) => lastUses.note(identity, timeMs))
    const shareRoom = createShareRoom(documents, clock, config.sharesPerUserMax)
    const context: Context = {
      documents,
      lastUses,
      shareRoom,
      changes: createChanges(documents, store.transaction, createKeyIndex(documents)),
      keysPerUserMax: config.keysPerUserMax,
      policy,
      clock,
      owner,
    }
    const users: UsersService = {
      ...createUserDirectory(context, random),
      ...createGroupDirectory(context),
      ...createPolicyDirectory(context),
      ...createAccessKeyDirectory(context, random),
      ...createShareDirectory(context),
      ...createTransfer(context),
      describeIdentity: (user: string) => (user === owner.accessKey ? owner : principals.describe(user)),
      createSession: sessions.create,
    }
    const { authSigv4, s3 } = services
    /** Absent without the S3 API. */
    const s3Place: S3PlaceOf = exchange =>
      authSigv4 && s3 && { endpoint: s3.endpointFor(exchange), region: authSigv4.region }
    return {
      services: { users: Object.freeze(users) },
      internal: { s3Place },
      start: secrets.open,
      drain: lastUses.flush,
      stop() {
        shareRoom.close()
        return secrets.close()
      },
    }
  },
})
