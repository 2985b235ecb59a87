import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import { Type } from 'typebox'

export const websiteConfig = Type.Object({ keyNormalization: keyNormalizationSetting })
