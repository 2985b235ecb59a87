/** Key groups, which signed URLs and signed cookies are verified with. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/cluster-archive/api'
import addKeyGroupKey from './admin/add-key-group-key.ts'
import createKeyGroup from './admin/create-key-group.ts'
import deleteKeyGroup from './admin/delete-key-group.ts'
import getKeyGroup from './admin/get-key-group.ts'
import listKeyGroups from './admin/list-key-groups.ts'
import putKeyGroup from './admin/put-key-group.ts'
import removeKeyGroupKey from './admin/remove-key-group-key.ts'
import type { KeyGroupsService } from './api.ts'
import { createArchivePart } from './archive-part.ts'
import { createDirectory } from './directory.ts'
import { declareKeyGroups } from './documents.ts'
import { keyGroupPoints } from './points.ts'
import { createRemembered } from './remembered.ts'
import { createSigning } from './signing.ts'
import { createVerification } from './verification.ts'

export default definePlugin({
  name: 'key-groups',
  description: 'Key groups, with which signed URLs and signed cookies are verified and made.',
  requires: ['store'],
  provides: ['keyGroups'],
  points: keyGroupPoints,
  contributes: {
    'admin.operation': [
      listKeyGroups,
      createKeyGroup,
      getKeyGroup,
      putKeyGroup,
      deleteKeyGroup,
      addKeyGroupKey,
      removeKeyGroupKey,
    ],
  },
  setup({ services: { store }, ports, point, contribute }) {
    const documents = declareKeyGroups(store)
    const users = point('keyGroups.user')
    const { clock } = ports
    contribute('archive.part', 'key-group', createArchivePart({ documents, clock }), { optional: true })
    const keyGroups: KeyGroupsService = {
      ...createDirectory({ store, documents, users, clock }),
      verify: createVerification({ groups: documents.compiled, remembered: createRemembered() }),
      sign: createSigning(documents.groups, clock),
    }
    return { services: { keyGroups: Object.freeze(keyGroups) } }
  },
})
