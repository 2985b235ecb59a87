/** The mode `s3` of distributions: the S3 API of one bucket on its own domain. */
import { definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/distributions/api'
import { Type } from 'typebox'
import { createBucketServer } from './bucket-server.ts'
import { s3DomainProblems } from './problems.ts'

export default definePlugin({
  name: 's3-domains',
  description: 'Distributions as S3 endpoints of one bucket.',
  requires: ['s3'],
  config: Type.Object({}),
  setup({ services, contribute }) {
    const compile = createBucketServer(services.s3)
    contribute('distribution.mode', 's3', { problems: s3DomainProblems, compile }, { optional: true })
  },
})
