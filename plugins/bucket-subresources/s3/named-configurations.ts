/**
 * Configurations of which a bucket may have several, each with an id: analytics, inventory, metrics and intelligent tiering. There
 * are none. SDKs and Terraform list them to find out, so the list is empty and well-formed; to put one is not built.
 */
import { objectErrors } from 'svc/plugins/objects/api'
import type { ActionDeclaration } from 'svc/plugins/policy/api'
import { defineS3Operation } from 'svc/plugins/s3/api'
import { settingErrors } from '../errors.ts'

interface Kind {
  readonly parameter: string
  /** The name as in names of operations. */
  readonly name: string
  /** The name as in names of actions. */
  readonly action: string
  readonly listRoot: string
  /** In descriptions. */
  readonly subject: string
}

const kinds: readonly Kind[] = [
  {
    parameter: 'analytics',
    name: 'Analytics',
    action: 'AnalyticsConfiguration',
    listRoot: 'ListBucketAnalyticsConfigurationResult',
    subject: 'analytics configurations',
  },
  {
    parameter: 'intelligent-tiering',
    name: 'IntelligentTiering',
    action: 'IntelligentTieringConfiguration',
    listRoot: 'ListBucketIntelligentTieringConfigurationsOutput',
    subject: 'configurations of intelligent tiering',
  },
  {
    parameter: 'inventory',
    name: 'Inventory',
    action: 'InventoryConfiguration',
    listRoot: 'ListInventoryConfigurationsResult',
    subject: 'inventory configurations',
  },
  {
    parameter: 'metrics',
    name: 'Metrics',
    action: 'MetricsConfiguration',
    listRoot: 'ListMetricsConfigurationsResult',
    subject: 'metrics configurations',
  },
]

function operationsOf({ parameter, name, action, listRoot }: Kind) {
  return [
    defineS3Operation({
      name: `ListBucket${name}Configurations`,
      summary: 'Returns an empty list: there are no such configurations.',
      match: { method: 'GET', level: 'bucket', query: [parameter] },
      action: `s3:Get${action}`,
      body: { kind: 'none' },
      reply: { kind: 'xml', root: listRoot },
      errors: ['InvalidArgument', 'NoSuchBucket'],
      uses: ['objects'],
      async handle({ bucket, query }, { objects }) {
        await objects.getBucket(bucket)
        const token = query.get('continuation-token')
        if (token !== undefined) {
          throw objectErrors.InvalidArgument('The continuation token provided is incorrect', {
            extra: { ArgumentName: 'continuation-token', ArgumentValue: token },
          })
        }
        return { xml: { IsTruncated: false } }
      },
    }),
    defineS3Operation({
      name: `GetBucket${name}Configuration`,
      summary: 'Says that there is no such configuration.',
      match: { method: 'GET', level: 'bucket', query: [parameter, 'id'] },
      action: `s3:Get${action}`,
      body: { kind: 'none' },
      reply: { kind: 'xml', root: `${name}Configuration` },
      errors: ['NoSuchBucket', 'NoSuchConfiguration'],
      uses: ['objects'],
      async handle({ bucket }, { objects }) {
        await objects.getBucket(bucket)
        throw settingErrors.NoSuchConfiguration()
      },
    }),
    defineS3Operation({
      name: `DeleteBucket${name}Configuration`,
      summary: 'Says that there is no such configuration.',
      match: { method: 'DELETE', level: 'bucket', query: [parameter] },
      parameters: ['id'],
      action: `s3:Put${action}`,
      body: { kind: 'none' },
      reply: { kind: 'empty', status: 204 },
      errors: ['NoSuchBucket', 'NoSuchConfiguration'],
      uses: ['objects'],
      async handle({ bucket }, { objects }) {
        await objects.getBucket(bucket)
        throw settingErrors.NoSuchConfiguration()
      },
    }),
  ]
}

export const namedConfigurations = kinds.flatMap(operationsOf)

/** The actions of these operations, for `policy.action`. */
export const namedConfigurationActions: readonly (readonly [string, ActionDeclaration])[] = kinds.flatMap(
  ({ action, subject }) => [
    [`s3:Get${action}`, { level: 'bucket', status: 'fixed', description: `read ${subject}` }],
    [`s3:Put${action}`, { level: 'bucket', status: 'fixed', description: `replace and remove ${subject}` }],
  ],
)
