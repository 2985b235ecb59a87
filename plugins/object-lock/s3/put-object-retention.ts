import type { Retention } from 'svc/plugins/objects/api'
import { childText, defineS3Operation, s3Errors, type XmlNode } from 'svc/plugins/s3/api'
import { mayBypassGovernance } from '../governance.ts'
import { parseTime, requireMode } from '../retention.ts'

export default defineS3Operation({
  name: 'PutObjectRetention',
  summary: 'Sets or changes the retention of an object; an empty document removes it.',
  match: { method: 'PUT', level: 'object', query: ['retention'] },
  action: 's3:PutObjectRetention',
  versionedAction: 's3:PutObjectRetention',
  body: {
    kind: 'xml',
    root: 'Retention',
    elements: { Mode: 'text', RetainUntilDate: 'text' },
    maxBytes: 16 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: [
    'AccessDenied',
    'InvalidArgument',
    'InvalidRequest',
    'MalformedXML',
    'MethodNotAllowed',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchVersion',
  ],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, query, xml, origin } = request
    const retention = readRetention(xml!)
    const bypassGovernance = mayBypassGovernance(request, key, query.get('versionId'))
    await objects.changeVersion(bucket, key, query.get('versionId'), { retention, bypassGovernance }, origin)
    return {}
  },
})

function readRetention(xml: XmlNode): Retention | null {
  const [mode, until] = [childText(xml, 'Mode'), childText(xml, 'RetainUntilDate')]
  if (mode === undefined && until === undefined) return null
  const retainUntilMs = until === undefined ? undefined : parseTime(until.trim())
  if (retainUntilMs === undefined) throw s3Errors.MalformedXML('RetainUntilDate must be a time in ISO 8601.')
  return { mode: requireMode(mode, () => s3Errors.MalformedXML('The Mode is unknown.')), retainUntilMs }
}
