/** The subsystem `access`: the block of public access in the whole cluster. */
import { chain, type MaybePromise } from 'svc/kernel'
import type { SettingsService } from 'svc/plugins/settings/api'
import { Type } from 'typebox'
import type { PublicAccessSetting } from './api.ts'
import type { ObjectOwnershipConfig } from './config.ts'

export interface ClusterBlock {
  get(): MaybePromise<PublicAccessSetting>
  etag(): Promise<string>
  set(change: Partial<PublicAccessSetting>, ifMatch?: string): Promise<void>
}

/** During set-up. What is configured holds until somebody sets it. */
export function createClusterBlock(
  settings: SettingsService,
  { blockPublicAccess, blockPublicAccessMode }: ObjectOwnershipConfig,
): ClusterBlock {
  const access = settings.declare('access', {
    description: 'Public access to buckets, from the next request on.',
    keys: Type.Object({
      block_public: Type.Boolean({
        default: blockPublicAccess,
        description:
          'on blocks public access in every bucket: bucket policies, access rules and access control lists that allow everybody have no effect.',
      }),
      block_public_mode: Type.Union([Type.Literal('reject'), Type.Literal('ignore')], {
        default: blockPublicAccessMode,
        description: 'While it is blocked: reject refuses to store what is public, ignore stores it without effect.',
      }),
    }),
  })
  const shown = (isBlocked: boolean) => ({
    reject: Object.freeze<PublicAccessSetting>({ isBlocked, mode: 'reject' }),
    ignore: Object.freeze<PublicAccessSetting>({ isBlocked, mode: 'ignore' }),
  })
  const [open, blocked] = [shown(false), shown(true)]
  return {
    get: () =>
      chain(access.get(), ({ block_public, block_public_mode: mode }) => {
        if (block_public) return blocked[mode]
        // A block that cannot be read is still a block: nobody gets rights because it is damaged.
        return chain(access.problem(), problem => (problem === undefined ? open : blocked)[mode])
      }),
    etag: () => settings.administration.etag('access'),
    async set({ isBlocked, mode }, ifMatch) {
      const changes = {
        ...(isBlocked !== undefined && { block_public: isBlocked ? 'on' : 'off' }),
        ...(mode !== undefined && { block_public_mode: mode }),
      }
      await settings.administration.update('access', changes, { ifMatch })
    },
  }
}
