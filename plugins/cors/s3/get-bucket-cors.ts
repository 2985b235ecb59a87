import { defineS3Operation, type XmlValue } from 'svc/plugins/s3/api'
import { corsErrors } from '../errors.ts'
import type { CorsRule } from '../rules.ts'

export default defineS3Operation({
  name: 'GetBucketCors',
  summary: 'Returns the CORS rules of a bucket.',
  match: { method: 'GET', level: 'bucket', query: ['cors'] },
  action: 's3:GetBucketCORS',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'CORSConfiguration' },
  errors: ['NoSuchBucket', 'NoSuchCORSConfiguration'],
  uses: ['cors', 'objects'],
  async handle({ bucket }, { cors, objects }) {
    await objects.getBucket(bucket)
    const { rules } = await cors.rules(bucket)
    if (rules.length === 0) throw corsErrors.NoSuchCORSConfiguration(undefined, { extra: { BucketName: bucket } })
    return { xml: { CORSRule: rules.map(describeRule) } }
  },
})

function describeRule(rule: CorsRule): XmlValue {
  return {
    ID: rule.id,
    AllowedHeader: rule.allowedHeaders,
    AllowedMethod: rule.allowedMethods,
    AllowedOrigin: rule.allowedOrigins,
    ExposeHeader: rule.exposeHeaders,
    MaxAgeSeconds: rule.maxAgeSeconds,
  }
}
