/**
 * Ranges in drive names: `/mnt/d{1...4}` names four drives, `/mnt/{1...2}/d{01...16}` thirty-two. Used for the endpoints of the
 * configuration.
 */

const range = /\{(\d+)\.\.\.(\d+)\}/
/** Far more drives than any storage has, so that a typing error cannot exhaust the memory. */
const namesMax = 1024

/** The reason why names cannot be expanded, as a continuation of the key's name; undefined if they can. */
export function rangeProblem(endpoints: readonly string[]): string | undefined {
  for (const endpoint of endpoints) {
    for (const [text, from, to] of endpoint.matchAll(new RegExp(range, 'g'))) {
      if (Number(from) > Number(to)) return `has the range ${text}, which is empty`
    }
    if (/[{}]/.test(endpoint.replaceAll(new RegExp(range, 'g'), ''))) {
      return `has ${JSON.stringify(endpoint)}, whose braces are no range such as {1...4}`
    }
  }
  if (count(endpoints) > namesMax) return `names more than ${namesMax} drives`
  return undefined
}

function count(endpoints: readonly string[]): number {
  let sum = 0
  for (const endpoint of endpoints) {
    let product = 1
    for (const [, from, to] of endpoint.matchAll(new RegExp(range, 'g'))) product *= Number(to) - Number(from) + 1
    sum += product
  }
  return sum
}

/**
 * The names by pool: each argument with a range is a pool, in order; arguments without a range are one pool together, at the
 * position of the first of them.
 */
export function expandPools(endpoints: readonly string[]): string[][] {
  const pools: string[][] = []
  let plain: string[] | undefined
  for (const endpoint of endpoints) {
    if (range.test(endpoint)) pools.push(expandRanges([endpoint]))
    else if (plain !== undefined) plain.push(endpoint)
    else {
      plain = [endpoint]
      pools.push(plain)
    }
  }
  return pools
}

/** The expanded names, in order. Numbers keep the width of the range's first number: `{01...10}`. */
export function expandRanges(endpoints: readonly string[]): string[] {
  return endpoints.flatMap(endpoint => {
    const match = range.exec(endpoint)
    if (match === null) return [endpoint]
    const [text, from, to] = match as unknown as [string, string, string]
    const width = from.startsWith('0') ? from.length : 0
    const names: string[] = []
    for (let number = Number(from); number <= Number(to); number++) {
      const name = endpoint.slice(0, match.index) + String(number).padStart(width, '0')
      names.push(name + endpoint.slice(match.index + text.length))
    }
    return expandRanges(names)
  })
}
