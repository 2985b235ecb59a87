/** Ids of keys, as backends, the Admin API and headers of S3 have them. */
const pattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Whether backends may be asked for it: also names of master keys, and nothing that means another thing in a path. */
export function mayBeKeyId(id: string): boolean {
  return /^[A-Za-z0-9._-]{1,128}$/.test(id) && id !== '.' && id !== '..'
}

/** Undefined, or what is wrong with the id of a new key: a sentence without subject. */
export function checkKeyId(id: string): string | undefined {
  if (pattern.test(id)) return undefined
  return 'must be 1 to 128 letters, digits, ".", "_" and "-", and begin with a letter or a digit'
}
