/** Built-in policies, which every deployment has and which cannot be changed. None of them denies anything. */
import type { PolicyDocument } from './document.ts'

const everywhere = 'arn:aws:s3:::*'

const allow = (Action: readonly string[], Resource?: string) =>
  Resource === undefined
    ? { Effect: 'Allow' as const, Action }
    : { Effect: 'Allow' as const, Action, Resource: [Resource] }

const of = (...Statement: PolicyDocument['Statement']): PolicyDocument => ({ Version: '2012-10-17', Statement })

export const builtInPolicies: readonly { readonly name: string; readonly document: PolicyDocument }[] = [
  { name: 'consoleAdmin', document: of(allow(['admin:*']), allow(['s3:*'], everywhere)) },
  {
    name: 'diagnostics',
    document: of(
      allow([
        'admin:ServerInfo',
        'admin:DataUsageInfo',
        'admin:Prometheus',
        'admin:ServerTrace',
        'admin:ConsoleLog',
        'admin:Profiling',
        'admin:Speedtest',
        'admin:TopLocksInfo',
        'admin:KMSKeyStatus',
      ]),
    ),
  },
  { name: 'readwrite', document: of(allow(['s3:*'], everywhere)) },
  {
    name: 'readonly',
    document: of(
      allow(
        [
          's3:ListAllMyBuckets',
          's3:GetBucketLocation',
          's3:ListBucket',
          's3:ListBucketVersions',
          's3:GetObject',
          's3:GetObjectVersion',
          's3:GetObjectAttributes',
          's3:GetObjectVersionAttributes',
          's3:GetObjectTagging',
          's3:GetObjectVersionTagging',
        ],
        everywhere,
      ),
    ),
  },
  {
    name: 'writeonly',
    document: of(allow(['s3:PutObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'], everywhere)),
  },
]
