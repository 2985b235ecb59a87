/** Every command, in the order in which the help lists them. Those of `admin` and `dist` come from the declarations of the Admin API. */
import type { CommandDeclaration } from '../command.ts'
import accessBlockPublic from './access-block-public.ts'
import accessGet from './access-get.ts'
import accessPreset from './access-preset.ts'
import accessSet from './access-set.ts'
import accessSimple from './access-simple.ts'
import accessTest from './access-test.ts'
import aliasList from './alias-list.ts'
import aliasRemove from './alias-remove.ts'
import aliasSet from './alias-set.ts'
import cachePurge from './cache-purge.ts'
import cacheStats from './cache-stats.ts'
import cacheWarm from './cache-warm.ts'
import cat from './cat.ts'
import { createCompletionCommand } from './completion.ts'
import completionTargets from './completion-targets.ts'
import cp from './cp.ts'
import diff from './diff.ts'
import distCertGet from './dist-cert-get.ts'
import distCertList from './dist-cert-list.ts'
import distCertRemove from './dist-cert-remove.ts'
import distCertRenew from './dist-cert-renew.ts'
import distCertReplace from './dist-cert-replace.ts'
import distCertUpload from './dist-cert-upload.ts'
import distCreate from './dist-create.ts'
import distDiff from './dist-diff.ts'
import distDisable from './dist-disable.ts'
import distEnable from './dist-enable.ts'
import distExport from './dist-export.ts'
import distGet from './dist-get.ts'
import distImport from './dist-import.ts'
import distList from './dist-list.ts'
import distPublish from './dist-publish.ts'
import distRemove from './dist-remove.ts'
import distResolve from './dist-resolve.ts'
import distRotateSecret from './dist-rotate-secret.ts'
import distSet from './dist-set.ts'
import distSign from './dist-sign.ts'
import distTest from './dist-test.ts'
import du from './du.ts'
import find from './find.ts'
import ls from './ls.ts'
import mb from './mb.ts'
import mirror from './mirror.ts'
import mv from './mv.ts'
import passwd from './passwd.ts'
import ping from './ping.ts'
import presign from './presign.ts'
import rb from './rb.ts'
import rm from './rm.ts'
import shareDownload from './share-download.ts'
import shareList from './share-list.ts'
import shareRevoke from './share-revoke.ts'
import shareUpload from './share-upload.ts'
import stat from './stat.ts'
import tree from './tree.ts'
import version from './version.ts'

const declared: CommandDeclaration[] = [
  aliasSet,
  aliasList,
  aliasRemove,
  passwd,
  mb,
  rb,
  ls,
  cp,
  mv,
  cat,
  stat,
  rm,
  mirror,
  diff,
  du,
  find,
  tree,
  presign,
  shareDownload,
  shareList,
  shareRevoke,
  shareUpload,
  accessGet,
  accessSet,
  accessPreset,
  accessTest,
  accessBlockPublic,
  accessSimple,
  distList,
  distGet,
  distCreate,
  distSet,
  distEnable,
  distDisable,
  distRemove,
  distPublish,
  distExport,
  distDiff,
  distImport,
  distResolve,
  distTest,
  distRotateSecret,
  distCertList,
  distCertUpload,
  distCertGet,
  distCertReplace,
  distCertRemove,
  distCertRenew,
  distSign,
  cachePurge,
  cacheWarm,
  cacheStats,
  ping,
  version,
]
declared.push(createCompletionCommand(listCommands), completionTargets)

/** All commands. Those of the Admin API take longer to make than most other commands take to run. */
export async function listCommands(): Promise<readonly CommandDeclaration[]> {
  const { listAdminCommands } = await import('../admin/index.ts')
  return [...declared, ...listAdminCommands()]
}

/** The commands that these arguments may select. */
export async function commandsFor(argv: readonly string[]): Promise<readonly CommandDeclaration[]> {
  return ['admin', 'cache', 'dist'].some(group => argv.includes(group)) ? listCommands() : declared
}
