/** What the plugins that ship declare: set up, not started. Nothing is opened, and the result depends on the sources alone. */
import { resolve } from 'node:path'
import { type ConfigurationRow, describeConfiguration } from '../kernel/config/index.ts'
import type { PointDescription } from '../kernel/kernel-service.ts'
import type { Contribution } from '../kernel/plugin.ts'
import { boot } from '../kernel/program/boot.ts'
import { createHostKernel } from '../kernel/program/host-kernel.ts'
import { createLogger, createStderrSink } from '../kernel/program/log.ts'
import { kernelSection } from '../kernel/program/settings.ts'
import type { AdminOperation } from '../plugins/admin/api.ts'
import { type CatalogueRow, catalogue } from '../plugins/admin/catalogue.ts'
import { createCatalogue, type PolicyAction } from '../plugins/policy/api.ts'
import type { S3Operation } from '../plugins/s3/api.ts'
import { type KnownOperation, notBuilt, rowsOf } from '../plugins/s3/not-implemented.ts'

export const root = resolve(import.meta.dirname, '..')

export interface Declarations {
  readonly configuration: readonly ConfigurationRow[]
  readonly points: readonly PointDescription[]
  readonly operations: readonly Contribution<S3Operation>[]
  /** Operations of S3 that no plugin serves yet. */
  readonly notBuilt: readonly KnownOperation[]
  /** Of the Admin API, those that are served. */
  readonly adminOperations: readonly Contribution<AdminOperation>[]
  /** All that the Admin API shall have. */
  readonly adminCatalogue: readonly CatalogueRow[]
  /** What policies can name, actions of plugins among them. */
  readonly actions: readonly PolicyAction[]
}

export async function readDeclarations(): Promise<Declarations> {
  // Enough to be valid; none of it appears in what is declared.
  const env = { SVC_ROOT_USER: 'reference', SVC_ROOT_PASSWORD: 'reference' }
  const { plugins, resolved } = await boot(['/reference', '--workers=0'], env, root)
  const log = createLogger('warn', createStderrSink('text'))
  const kernel = createHostKernel({ plugins, config: resolved.sections, log })
  kernel.setup()
  const operations = kernel.point('s3.operation').list()
  return {
    configuration: describeConfiguration([kernelSection, ...plugins]),
    points: kernel.service.points(),
    operations,
    notBuilt: rowsOf(notBuilt),
    adminOperations: kernel.point('admin.operation').list(),
    adminCatalogue: catalogue,
    actions: createCatalogue(kernel.point('policy.action').list()).actions,
  }
}
