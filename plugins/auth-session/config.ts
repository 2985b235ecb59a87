import { type Static, Type } from 'typebox'
import { browserRedirectUrlKey } from './keys.ts'

export const authSessionConfig = Type.Object({ browserRedirectUrl: browserRedirectUrlKey })

export type AuthSessionConfig = Static<typeof authSessionConfig>
