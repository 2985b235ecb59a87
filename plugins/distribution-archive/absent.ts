/** Stand-ins for plugins that are not loaded: they have no documents, and none can be imported. */
import { adminErrors } from 'svc/plugins/admin/api'
import type { CacheDocumentsService, StagedDocuments } from 'svc/plugins/cache/api'
import type { KeyGroupsService } from 'svc/plugins/key-groups/api'

const absent = (plugin: string, kinds: string): Error =>
  adminErrors.not_implemented(`The plugin ${plugin} is not loaded: the file cannot have ${kinds}.`)

export const noKeyGroups: Pick<KeyGroupsService, 'list' | 'prepare'> = {
  list: async () => ({ items: [], next: undefined }),
  async prepare() {
    throw absent('key-groups', 'KeyGroup')
  },
}

const none = <Content>(): StagedDocuments<Content> => ({
  before: new Map(),
  after: new Map(),
  changed: new Set(),
  errors: new Map(),
})

export const noCacheDocuments: CacheDocumentsService = {
  async stage({ policies, settings, distributions }) {
    if (policies.size > 0 || settings !== undefined || distributions.size > 0)
      throw absent('cache', 'CachePolicy, CacheSettings or DistributionCache')
    return { policies: none(), settings: none(), distributions: none(), apply() {} }
  },
}
