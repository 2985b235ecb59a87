/** The subsystem `region`: a note about the deployment. Requests are checked against the configuration. */
import type { AuthSigv4Service } from 'svc/plugins/auth-sigv4/api'
import type { SettingsService } from 'svc/plugins/settings/api'
import { Type } from 'typebox'

export function declareRegion(settings: SettingsService, { region }: Pick<AuthSigv4Service, 'region'>): void {
  settings.declare('region', {
    description: 'Location of the deployment. It has no effect: clients sign for SVC_REGION (--region).',
    isApplied: false,
    keys: Type.Object({
      name: Type.String({
        default: region,
        pattern: '^[a-z0-9-]{1,64}$',
        errorMessage: 'must be 1 to 64 lower-case letters, digits and hyphens',
        description: 'Name of the region. The default is the effective one; to change that, start with --region.',
      }),
      comment: Type.String({ default: '', maxLength: 1024, description: 'For people.' }),
    }),
  })
}
