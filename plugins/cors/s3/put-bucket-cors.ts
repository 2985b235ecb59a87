import { objectErrors } from 'svc/plugins/objects/api'
import { childText, childTexts, defineS3Operation, s3Errors, type XmlNode } from 'svc/plugins/s3/api'
import { type CorsRule, checkCorsRules } from '../rules.ts'

export default defineS3Operation({
  name: 'PutBucketCors',
  summary: 'Replaces the CORS rules of a bucket.',
  match: { method: 'PUT', level: 'bucket', query: ['cors'] },
  action: 's3:PutBucketCORS',
  body: {
    kind: 'xml',
    root: 'CORSConfiguration',
    elements: {
      CORSRule: {
        ID: 'text',
        AllowedHeader: 'text',
        AllowedMethod: 'text',
        AllowedOrigin: 'text',
        ExposeHeader: 'text',
        MaxAgeSeconds: 'text',
      },
    },
    maxBytes: 64 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['InvalidRequest', 'MalformedXML', 'NoSuchBucket'],
  uses: ['cors', 'objects'],
  async handle({ bucket, xml }, { cors, objects }) {
    if (xml!.children.length === 0) throw s3Errors.MalformedXML('CORSConfiguration holds at least one CORSRule.')
    const rules = xml!.children.map(readRule)
    await objects.getBucket(bucket)
    const [problem] = checkCorsRules(rules)
    if (problem !== undefined) throw objectErrors.InvalidRequest(problem.message)
    await cors.replace(bucket, rules)
    return {}
  },
})

function readRule(node: XmlNode): CorsRule {
  const id = childText(node, 'ID')
  const maxAge = childText(node, 'MaxAgeSeconds')?.trim()
  if (maxAge !== undefined && !/^-?\d{1,10}$/.test(maxAge)) throw s3Errors.MalformedXML('MaxAgeSeconds is an integer.')
  const allowedOrigins = texts(node, 'AllowedOrigin')
  const allowedMethods = texts(node, 'AllowedMethod')
  if (allowedOrigins.length === 0 || allowedMethods.length === 0) {
    throw s3Errors.MalformedXML('A CORSRule has at least one AllowedOrigin and one AllowedMethod.')
  }
  return {
    ...(id === undefined ? undefined : { id }),
    allowedOrigins,
    allowedMethods,
    allowedHeaders: texts(node, 'AllowedHeader'),
    exposeHeaders: texts(node, 'ExposeHeader'),
    ...(maxAge === undefined ? undefined : { maxAgeSeconds: Number(maxAge) }),
  }
}

function texts(node: XmlNode, name: string): string[] {
  return childTexts(node, name).map(text => text.trim())
}
