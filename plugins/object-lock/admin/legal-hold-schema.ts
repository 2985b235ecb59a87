import { Type } from 'typebox'

export const LegalHold = Type.Object({ enabled: Type.Boolean() }, { $id: 'LegalHold' })
