import type { PolicyService } from 'svc/plugins/policy/api'
import { Type } from 'typebox'
import type { BucketPolicyService } from '../api.ts'
import { rulesOf } from '../simple-access.ts'
import { readPolicy } from './read-policy.ts'

export const SimpleAccess = Type.Object(
  {
    bucket: Type.String(),
    rules: Type.Array(
      Type.Object({
        prefix: Type.String({ description: 'Of keys; empty is the whole bucket.' }),
        keys: Type.String({
          description:
            'What it holds for: every key that begins so. Without `/` before the `*`, `pub*` is `public.txt`, too.',
        }),
        preset: Type.Union([
          Type.Literal('download'),
          Type.Literal('download-list'),
          Type.Literal('upload'),
          Type.Literal('public'),
        ]),
      }),
      { description: 'By prefix. Other statements of the policy are not shown.' },
    ),
    public: Type.Boolean({
      description:
        'Everybody may do something in it, by the policy, an access rule or the access control list of the bucket. Lists of objects do not count.',
    }),
    hasPolicy: Type.Boolean(),
  },
  { $id: 'SimpleAccess' },
)

export async function describeAccess(
  bucketPolicy: BucketPolicyService,
  { prepare, isPublic }: Pick<PolicyService, 'prepare' | 'isPublic'>,
  bucket: string,
) {
  await prepare(bucket)
  const policy = (await readPolicy(bucketPolicy, bucket))?.policy
  return {
    bucket,
    rules:
      policy === undefined
        ? []
        : rulesOf(bucket, policy.document.Statement).map(rule => ({ ...rule, keys: `${rule.prefix}*` })),
    public: isPublic(bucket),
    hasPolicy: policy !== undefined,
  }
}
