/** How much of the Admin API is served: `npm run report:api`. */
import { readDeclarations } from './declarations.ts'

const { adminOperations, adminCatalogue } = await readDeclarations()
const served = new Set(adminOperations.map(({ id }) => id))
const groups = new Map<string, { served: number; all: number; missing: string[] }>()
for (const { group, operationId } of adminCatalogue) {
  const entry = groups.get(group) ?? { served: 0, all: 0, missing: [] }
  groups.set(group, entry)
  entry.all++
  if (served.has(operationId)) entry.served++
  else entry.missing.push(operationId)
}
for (const [group, { served, all, missing }] of groups) {
  const names = missing.length > 6 ? `${missing.slice(0, 6).join(' ')} …` : missing.join(' ')
  process.stdout.write(
    `${group.padEnd(14)} ${`${served}/${all}`.padStart(7)}  ${names === '' ? '' : `planned: ${names}`}\n`,
  )
}
const known = new Set(adminCatalogue.map(({ operationId }) => operationId))
const beyond = adminOperations.filter(({ id }) => !known.has(id)).map(({ id }) => id)
if (beyond.length > 0) process.stdout.write(`beyond the catalogue: ${beyond.join(' ')}\n`)
process.stdout.write(
  `served ${[...groups.values()].reduce((sum, group) => sum + group.served, 0)} / ${adminCatalogue.length}\n`,
)
