/** Distributions and all that belongs to them as YAML documents, out and in. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/cache/api'
import 'svc/plugins/distributions/api'
import 'svc/plugins/key-groups/api'
import { noSecretReferences } from 'svc/plugins/secret-references/api'
import { noCacheDocuments, noKeyGroups } from './absent.ts'
import exportDistributions from './admin/export-distributions.ts'
import importDistributions from './admin/import-distributions.ts'
import { createDistributionArchive } from './archive.ts'

export default definePlugin({
  name: 'distribution-archive',
  description: 'Distributions, their caches, cache policies and key groups as YAML documents, to be kept in git.',
  requires: ['distributions', 'store'],
  optional: ['cacheDocuments', 'keyGroups', 'secretReferences'],
  internal: ['distributionArchive'],
  contributes: { 'admin.operation': [exportDistributions, importDistributions] },
  setup({ services }) {
    const { distributions, store, secretReferences = noSecretReferences } = services
    const { cacheDocuments = noCacheDocuments, keyGroups = noKeyGroups } = services
    const { resolve } = secretReferences
    return {
      internal: {
        distributionArchive: createDistributionArchive({ cacheDocuments, distributions, keyGroups, store, resolve }),
      },
    }
  },
})
