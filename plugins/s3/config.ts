import { type Static, Type } from 'typebox'

export const s3Config = Type.Object({
  domain: Type.Array(Type.String(), {
    default: [],
    description: 'Domains whose sub-domains are buckets (`<bucket>.<domain>`): virtual-host style requests.',
    variable: 'SVC_DOMAIN',
  }),
  keyNormalization: Type.Union([Type.Literal('nfc'), Type.Literal('none')], {
    default: 'nfc',
    description:
      'Unicode normalization of object keys: `nfc`, or `none` to keep the bytes that clients send, as AWS does.',
    variable: 'SVC_KEY_NORMALIZATION',
  }),
  serverUrl: Type.String({
    default: '',
    description: 'Public URL of the S3 API, used in links that the server hands out.',
    variable: 'SVC_SERVER_URL',
  }),
})

export type S3Config = Static<typeof s3Config>
