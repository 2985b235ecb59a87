/** The commands of `svcctl admin` and of other groups of the Admin API: one for each operation that is served, but for those that other commands do, and summaries for people. */
import type { CommandDeclaration } from '../command.ts'
import adminClusterImport from '../commands/admin-cluster-import.ts'
import adminDiagnose from '../commands/admin-diagnose.ts'
import adminDnsProviderAdd from '../commands/admin-dns-provider-add.ts'
import adminDnsProviderSet from '../commands/admin-dns-provider-set.ts'
import adminDnsProviderTest from '../commands/admin-dns-provider-test.ts'
import adminInfo from '../commands/admin-info.ts'
import adminMetricsQuery from '../commands/admin-metrics-query.ts'
import adminPrometheusGenerate from '../commands/admin-prometheus-generate.ts'
import adminServiceRestart from '../commands/admin-service-restart.ts'
import adminServiceStop from '../commands/admin-service-stop.ts'
import adminSpeedtest from '../commands/admin-speedtest.ts'
import { createUserAddCommand } from '../commands/admin-user-add.ts'
import distKeygroupAddKey from '../commands/dist-keygroup-add-key.ts'
import distKeygroupCreate from '../commands/dist-keygroup-create.ts'
import { createAdminCommand, takesItsAnswer } from './command.ts'
import { kebab } from './fields.ts'
import { commandName, servedElsewhere } from './naming.ts'
import { listOperations, type Operation } from './operations.ts'

export function listAdminCommands(): readonly CommandDeclaration[] {
  const derived = createAdminCommands()
  const createUser = derived.find(({ name }) => name === 'admin user create')!
  return [
    adminClusterImport,
    adminDiagnose,
    adminDnsProviderAdd,
    adminDnsProviderSet,
    adminDnsProviderTest,
    adminInfo,
    adminMetricsQuery,
    adminPrometheusGenerate,
    adminServiceRestart,
    adminServiceStop,
    adminSpeedtest,
    distKeygroupAddKey,
    distKeygroupCreate,
    createUserAddCommand(createUser),
    ...derived,
  ]
}

export function createAdminCommands(
  operations: readonly Operation[] = listOperations(),
): readonly CommandDeclaration[] {
  const documents = new Set(
    operations.filter(operation => operation.method === 'PUT' && takesItsAnswer(operation)).map(({ path }) => path),
  )
  const names = nameAll(operations.filter(operation => servedElsewhere(operation) === undefined))
  return [...names]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, operation]) =>
      createAdminCommand(operation, name, operation.method === 'GET' && documents.has(operation.path)),
    )
}

/** A name that is taken, or is the beginning of another, gives way to the operation's own. */
function nameAll(operations: readonly Operation[]): ReadonlyMap<string, Operation> {
  const names = new Map<string, Operation>()
  for (const operation of operations) {
    const wanted = commandName(operation)
    const isTaken = [...names.keys()].some(
      name => name === wanted || name.startsWith(`${wanted} `) || wanted.startsWith(`${name} `),
    )
    names.set(isTaken ? kebab(operation.id) : wanted, operation)
  }
  return names
}
