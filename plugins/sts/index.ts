/** Temporary credentials, as AWS's Security Token Service gives them. */

import type { MaybePromise } from 'svc/kernel'
import { definePlugin } from 'svc/kernel'
import type { QueryApiRequest, XmlValue } from 'svc/plugins/s3/api'
import 'svc/plugins/users/api'
import { Type } from 'typebox'
import { createAssumeRole } from './assume-role.ts'
import { getCallerIdentity } from './get-caller-identity.ts'
import { createGetSessionToken } from './get-session-token.ts'

export default definePlugin({
  name: 'sts',
  description: "Temporary credentials, as AWS's Security Token Service gives them.",
  requires: ['users'],
  config: Type.Object({}),
  setup({ services, contribute }) {
    contribute('s3.query-api', 'sts', {
      service: 'sts',
      namespace: 'https://sts.amazonaws.com/doc/2011-06-15/',
      version: '2011-06-15',
      actions: new Map<string, (request: QueryApiRequest) => MaybePromise<XmlValue>>([
        ['AssumeRole', createAssumeRole(services.users)],
        ['GetCallerIdentity', getCallerIdentity],
        ['GetSessionToken', createGetSessionToken(services.users)],
      ]),
    })
  },
})
