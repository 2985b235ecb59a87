import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'
import { domainKey, serverUrlKey } from './keys.ts'

export const s3Config = Type.Object({
  domain: domainKey,
  keyNormalization: keyNormalizationSetting,
  serverUrl: serverUrlKey,
})

export type S3Config = Static<typeof s3Config>
