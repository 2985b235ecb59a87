/** The syntax of key ids, the same for backends, the Admin API and S3 headers. */
const pattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Whether the id may be passed to a backend. Allows names of master keys, and no id that could change the path of a request. */
export function mayBeKeyId(id: string): boolean {
  return /^[A-Za-z0-9._-]{1,128}$/.test(id) && id !== '.' && id !== '..'
}

/** The problem with the id of a new key, as a sentence without subject; undefined if it is valid. */
export function checkKeyId(id: string): string | undefined {
  if (pattern.test(id)) return undefined
  return 'must be 1 to 128 letters, digits, ".", "_" and "-", and begin with a letter or a digit'
}
