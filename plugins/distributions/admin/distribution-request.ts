/** Shared by the operations on distributions. */
import { type AdminRequest, isAuthorized } from 'svc/plugins/admin/api'
import { editorOf } from 'svc/plugins/key-groups/api'
import { Type } from 'typebox'
import type { MayManage, SaverRights } from '../api.ts'
import { DistributionView } from '../document.ts'
import type { Saved } from '../saving.ts'
import type { DistributionsAdmin } from '../service.ts'

export const manage = 'admin:ManageDistributions'
export const IdParameters = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64 }) })
export { DistributionView }

export const DryRun = Type.Object({
  dryRun: Type.Boolean({ default: false, description: 'Checks everything and stores nothing.' }),
})

export const Force = {
  force: Type.Boolean({
    default: false,
    description:
      'Also where domains get the certificate that was ordered for the distribution now, and would get none that browsers accept.',
  }),
}

export const saveErrors = [
  'access_denied',
  'alias_conflict',
  'bucket_not_found',
  'certificate_in_use',
  'certificate_not_found',
  'dns_provider_not_found',
  'invalid_certificate',
  'invalid_distribution',
  'key_group_not_found',
  'not_implemented',
]

type Asking = Pick<AdminRequest, 'authorize'>

/** A caller who is denied access to a bucket cannot publish it. */
export const mayManageAs =
  (request: Asking): MayManage =>
  bucket =>
    isAuthorized(request, [manage], { bucket })

/** The rights that saving asks about: who may not write into a bucket cannot have logs written there. */
export const saverOf = (request: Asking & Parameters<typeof editorOf>[0]): SaverRights => ({
  keyGroupEditor: editorOf(request),
  mayManage: mayManageAs(request),
  mayWrite: (bucket, key) => isAuthorized(request, ['s3:PutObject'], { bucket, key }),
})

export async function savedView({ distribution, document, warnings }: Saved, distributions: DistributionsAdmin) {
  const view = await distributions.view(distribution, document)
  return warnings.length === 0 ? view : { ...view, warnings: [...warnings] }
}
