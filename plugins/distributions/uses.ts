/** The documents of other plugins that distributions name. */
import type { CertificateUse } from 'svc/plugins/certificates/api'
import type { KeyGroupUse } from 'svc/plugins/key-groups/api'
import type { SecretUse } from 'svc/plugins/secret-references/api'
import type { NamedUser, StoredDocument, Uses } from 'svc/plugins/store/api'
import { certificateOf } from './certificates.ts'
import type { StoredDistribution } from './document.ts'
import type { Registry } from './registry.ts'
import { keyGroupsOf } from './signed-access.ts'

type Document = StoredDocument<StoredDistribution>

export interface DistributionUses {
  readonly certificates: () => Promise<Uses<CertificateUse>>
  readonly keyGroups: () => Promise<Uses<KeyGroupUse>>
  readonly dnsProviders: () => Promise<Uses>
  readonly secrets: () => Promise<readonly SecretUse[]>
}

export function createUses({ all, usesOf }: Pick<Registry<unknown>, 'all' | 'usesOf'>): DistributionUses {
  return {
    secrets: async () =>
      (await all()).flatMap(({ id, value }) =>
        (value.restrictions.originSecretHeader?.secrets ?? []).flatMap(({ reference }) =>
          reference === undefined ? [] : [{ name: reference, user: `the origin secret of the distribution ${id}` }],
        ),
      ),
    certificates: usesOf(({ id, value }: Document): [string, CertificateUse][] => {
      const certificate = certificateOf({ ...value, id })
      return certificate === undefined ? [] : [[certificate, { name: id, domains: value.aliases }]]
    }),
    keyGroups: usesOf(({ id, value }: Document) =>
      [...keyGroupsOf(value)].map((group): [string, KeyGroupUse] => [group, { name: id, bucket: value.origin.bucket }]),
    ),
    dnsProviders: usesOf(({ id, value: { tls } }: Document): [string, NamedUser][] =>
      tls.dnsProvider === undefined ? [] : [[tls.dnsProvider, { name: `distribution/${id}` }]],
    ),
  }
}
