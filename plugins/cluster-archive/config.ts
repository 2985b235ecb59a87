import { rootPasswordKey } from 'svc/plugins/iam/api'
import { Type } from 'typebox'

export const ClusterArchiveConfig = Type.Object({ rootPassword: rootPasswordKey })
