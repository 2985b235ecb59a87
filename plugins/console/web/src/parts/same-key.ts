/** As the server may keep it, and compare it (SVC_KEY_NORMALIZATION). */
export const sameKey = (key: string): string => key.normalize('NFC')
