/** Takes a time that depends on the length of the given text only, not on how many of its characters are right. */
export function equalsInConstantTime(given: string, known: string): boolean {
  let difference = given.length ^ known.length
  for (let i = 0; i < given.length; i++) {
    difference |= given.charCodeAt(i) ^ known.charCodeAt(i < known.length ? i : 0)
  }
  return difference === 0
}
