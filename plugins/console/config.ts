import { browserRedirectUrlKey } from 'svc/plugins/auth-session/api'
import { Type } from 'typebox'

export const consoleConfig = Type.Object({ browserRedirectUrl: browserRedirectUrlKey })
