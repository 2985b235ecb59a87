/** Takes a time that depends on the length of what was given, not on how much of it is right. */
export function equalsInConstantTime(given: string, known: string): boolean {
  let difference = given.length ^ known.length
  for (let i = 0; i < given.length; i++) {
    difference |= given.charCodeAt(i) ^ known.charCodeAt(i < known.length ? i : 0)
  }
  return difference === 0
}
