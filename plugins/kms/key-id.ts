/** Ids of keys, as backends, the Admin API and headers of S3 have them. */
const pattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Undefined, or what is wrong with the id: a sentence without subject. */
export function checkKeyId(id: string): string | undefined {
  if (pattern.test(id)) return undefined
  return 'must be 1 to 128 letters, digits, ".", "_" and "-", and begin with a letter or a digit'
}
