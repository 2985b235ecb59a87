import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/s3/api'
import 'svc/plugins/stored-needs/api'
import { ObjectOwnershipConfig } from './config.ts'
import { createObjectOwnership } from './ownership.ts'
import { acceptAcl, createReadNewBucket } from './requests.ts'
import deleteBucketOwnershipControls from './s3/delete-bucket-ownership-controls.ts'
import deletePublicAccessBlock from './s3/delete-public-access-block.ts'
import getBucketAcl from './s3/get-bucket-acl.ts'
import getBucketOwnershipControls from './s3/get-bucket-ownership-controls.ts'
import getObjectAcl from './s3/get-object-acl.ts'
import getPublicAccessBlock from './s3/get-public-access-block.ts'
import putBucketAcl from './s3/put-bucket-acl.ts'
import putBucketOwnershipControls from './s3/put-bucket-ownership-controls.ts'
import putObjectAcl from './s3/put-object-acl.ts'
import putPublicAccessBlock from './s3/put-public-access-block.ts'

const operations = [
  deleteBucketOwnershipControls,
  deletePublicAccessBlock,
  getBucketAcl,
  getBucketOwnershipControls,
  getObjectAcl,
  getPublicAccessBlock,
  putBucketAcl,
  putBucketOwnershipControls,
  putObjectAcl,
  putPublicAccessBlock,
]

export default definePlugin({
  name: 'object-ownership',
  description: 'Object ownership, ACLs and blocks of public access.',
  requires: ['iam', 'objects', 'policy', 'settings', 'store'],
  provides: ['objectOwnership'],
  contributes: { 's3.operation': operations },
  config: ObjectOwnershipConfig,
  setup({ services, config, contribute }) {
    const { service, source, sections } = createObjectOwnership({ ...services, config })
    const objectOwnership = { ...service, readNewBucket: createReadNewBucket(service, services.iam) }
    contribute('policy.source', 'acl', source)
    for (const section of sections) {
      contribute('archive.section', section.documents.name, section, { optional: true })
    }
    contribute('s3.attribute', 'acl', {
      headers: [],
      read: () => undefined,
      describe: () => undefined,
      acceptAcl: request => acceptAcl(request, service, services.iam.owner),
    })
    contribute(
      'stored.need',
      'public-access-block',
      {
        sign: { kind: 'bucket-document', name: 'public-access-block' },
        has: 'a public access block',
        consequence: 'public access that is blocked is possible again',
      },
      { optional: true },
    )
    return { services: { objectOwnership } }
  },
})
