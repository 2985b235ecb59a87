import { hostname } from 'node:os'
import { defineAdminOperation } from 'svc/plugins/admin/api'
import { covers } from 'svc/plugins/distributions/api'
import { Type } from 'typebox'
import type { WebhookDocument } from '../api.ts'
import { invalidRequest } from '../errors.ts'
import type { NamedWebhooks, Quota } from '../policy/policy.ts'
import type {} from '../service.ts'
import { policyFields } from '../settings/fields.ts'
import { shownPolicy, watch } from './schemas.ts'

const Count = Type.Integer()
const Text = Type.String()

export default defineAdminOperation({
  id: 'inspectCache',
  method: 'GET',
  path: '/cache/inspect',
  tag: 'cache',
  summary:
    'Tells what the cache would do with a request, by which policy, and what it has. Reads nothing of the bucket.',
  authorize: watch,
  query: Type.Object({
    url: Type.String({ minLength: 1, maxLength: 8192, description: 'Absolute, or a path of `distribution`.' }),
    distribution: Type.Optional(Type.String({ maxLength: 64 })),
    header: Type.Array(Type.String({ maxLength: 8192 }), { maxItems: 50, default: [], description: '`Name: value`.' }),
  }),
  response: Type.Object(
    {
      url: Text,
      distribution: Text,
      host: Text,
      path: Text,
      bucket: Text,
      key: Text,
      cacheKey: Text,
      bypass: Type.Boolean(),
      reason: Type.String({ description: 'Of a bypass: disabled, policy, authorization, rule.' }),
      policy: Type.Object({
        enabled: Type.Boolean(),
        enabledLevel: Text,
        policyName: Text,
        policyLevel: Text,
        policy: Type.Object(policyFields),
        fields: Type.Record(Text, Text, { description: 'The level that each field is from.' }),
        domain: Text,
        behavior: Type.Integer({ description: '-1 is the default.' }),
        distributionQuota: Type.Integer({ description: 'Bytes; 0: none.' }),
        domainQuota: Type.Integer({ description: 'Bytes; 0: none.' }),
        cacheControl: Text,
        autoInvalidate: Type.Boolean(),
        purgeWebhooks: Type.Array(Text, { description: 'Ids of the webhooks that are told what to forget here.' }),
      }),
      mode: Text,
      nodes: Type.Array(
        Type.Object({
          node: Text,
          online: Type.Boolean(),
          owner: Type.Boolean(),
          error: Text,
          entry: Type.Optional(
            Type.Object({
              key: Text,
              present: Type.Boolean(),
              tier: Text,
              kind: Text,
              ageSeconds: Count,
              expiresInSeconds: Count,
              stale: Type.Boolean(),
              sizeBytes: Count,
              etag: Text,
              encodings: Type.Array(Text),
              blocks: Count,
            }),
          ),
        }),
      ),
    },
    { $id: 'CacheInspection' },
  ),
  errors: ['distribution_not_found', 'invalid_cache_request'],
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const { url, distribution: id, header } = request.query
    const inspected = await cacheAdmin.inspect({ url, distribution: id, headers: readHeaders(header) })
    const { distribution, host, alias, site, key, bypass, reason, entry } = inspected
    await request.authorize(watch, { bucket: distribution.origin.bucket })
    const { enabled, enabledLevel, policyName, policyLevel, policy, fields, autoInvalidate, purgeWebhooks } =
      site.policy
    const webhooks = (await cacheAdmin.webhooks()?.webhooks(distribution)) ?? []
    return {
      url,
      distribution: distribution.id,
      host,
      path: site.path,
      bucket: site.bucket,
      key: site.key,
      cacheKey: key,
      bypass,
      reason,
      policy: {
        enabled,
        enabledLevel,
        policyName,
        policyLevel,
        policy: shownPolicy(policy),
        fields: { ...Object.fromEntries(fields), purgeWebhooks: purgeWebhooks?.level ?? 'default' },
        domain: alias,
        behavior: site.behavior,
        ...quotasOf(site.policy.quota),
        cacheControl: site.cacheControl,
        autoInvalidate,
        purgeWebhooks: webhooks.filter(webhook => isTold(webhook, alias, purgeWebhooks)).map(({ id }) => id),
      },
      mode: cacheAdmin.mode,
      nodes: [
        {
          node: hostname(),
          online: true,
          owner: true,
          error: '',
          ...(entry !== undefined && { entry: { key, ...entry, encodings: [...entry.encodings] } }),
        },
      ],
    }
  },
})

const isTold = ({ id, domains = [] }: WebhookDocument, alias: string, named: NamedWebhooks | undefined): boolean =>
  (domains.length === 0 || domains.some(domain => domain === alias || covers(domain, alias))) &&
  named?.ids.includes(id) !== false

function quotasOf(quota: Quota | undefined) {
  const domainQuota = quota?.level === 'domain' ? quota.bytes : 0
  const whole = quota?.level === 'domain' ? quota.within : quota
  return { distributionQuota: whole?.bytes ?? 0, domainQuota }
}

function readHeaders(lines: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines.map((line, index) => {
      const colon = line.indexOf(':')
      if (colon < 1) throw invalidRequest(`query/header/${index}`, 'is no "Name: value"')
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
}
