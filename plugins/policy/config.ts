import { type Static, Type } from 'typebox'

/** For every plugin that takes keys, from requests or from policies. */
export const keyNormalizationSetting = Type.Union([Type.Literal('nfc'), Type.Literal('none')], {
  default: 'nfc',
  description:
    'Unicode normalization of object keys: `nfc`, or `none` to keep the bytes that clients send, as AWS does.',
  variable: 'SVC_KEY_NORMALIZATION',
})

export const PolicyConfig = Type.Object({ keyNormalization: keyNormalizationSetting })

export type PolicyConfig = Static<typeof PolicyConfig>

/** Keys in policies are brought into the form that keys of requests have: whoever types `é` need not know of its two forms. */
export type NormalizeKey = (text: string) => string

export function keyNormalizerOf({ keyNormalization }: PolicyConfig): NormalizeKey {
  return keyNormalization === 'none' ? asItIs : text => text.normalize('NFC')
}

export const asItIs: NormalizeKey = text => text
