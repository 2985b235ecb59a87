import { type Static, Type } from 'typebox'

/** The setting of every plugin that reads object keys from requests or policies. */
export const keyNormalizationSetting = Type.Union([Type.Literal('nfc'), Type.Literal('none')], {
  default: 'nfc',
  description:
    'Unicode normalization of object keys: `nfc`, or `none` to keep the bytes that clients send, as AWS does.',
  variable: 'SVC_KEY_NORMALIZATION',
})

export const PolicyConfig = Type.Object({ keyNormalization: keyNormalizationSetting })

export type PolicyConfig = Static<typeof PolicyConfig>

/** Normalizes keys in policies in the same way as keys in requests, so that both forms of `é` in Unicode match. */
export type NormalizeKey = (text: string) => string

export function keyNormalizerOf({ keyNormalization }: PolicyConfig): NormalizeKey {
  return keyNormalization === 'none' ? asItIs : text => text.normalize('NFC')
}

export const asItIs: NormalizeKey = text => text
