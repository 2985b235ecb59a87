/** The pages of the navigation, in its order, and who sees them. */
import {
  IconActivity,
  IconBell,
  IconBolt,
  IconBucket,
  IconCertificate,
  IconChartLine,
  IconDashboard,
  IconDatabase,
  IconFileText,
  IconHeartbeat,
  IconKey,
  IconLink,
  IconListSearch,
  IconLock,
  IconLockAccess,
  IconPlugConnected,
  IconRoute,
  IconServer,
  IconSettings,
  IconShieldCheck,
  IconSignature,
  IconTool,
  IconUser,
  IconUsers,
  IconWorld,
} from '@tabler/icons-react'
import { texts } from '../texts/index.ts'
import { needsOf } from './cache-tabs.ts'
import { needsOfTools } from './tool-needs.ts'

export interface Page {
  readonly to: string
  readonly label: string
  readonly icon: typeof IconUser
  /** What the page needs, or any of several; absent where everybody has something there. */
  readonly action?: string | readonly string[]
}

export interface PageGroup {
  readonly label: string
  readonly pages: readonly Page[]
}

export const overviewPage: Page = {
  to: '/',
  label: texts.overview.title,
  icon: IconDashboard,
  action: ['admin:ServerInfo', 'admin:DataUsageInfo', 'admin:Prometheus'],
}

/** Opened by the name of the user, and found by the search. */
export const accountPage: Page = { to: '/account', label: texts.account.title, icon: IconUser }

export const pageGroups: readonly PageGroup[] = [
  {
    label: '',
    pages: [
      overviewPage,
      { to: '/buckets', label: texts.buckets.title, icon: IconBucket },
      { to: '/shares', label: texts.shares.title, icon: IconLink },
    ],
  },
  {
    label: texts.navigation.access,
    pages: [
      { to: '/users', label: texts.users.title, icon: IconUser, action: 'admin:ListUsers' },
      { to: '/groups', label: texts.groups.title, icon: IconUsers, action: 'admin:ListGroups' },
      { to: '/policies', label: texts.policies.title, icon: IconShieldCheck, action: 'admin:ListUserPolicies' },
      { to: '/access-keys', label: texts.accessKeys.title, icon: IconKey },
    ],
  },
  {
    label: texts.navigation.publishing,
    pages: [
      {
        to: '/distributions',
        label: texts.publishing.distributions,
        icon: IconWorld,
        action: 'admin:ManageDistributions',
      },
      {
        to: '/cache',
        label: texts.cache.title,
        icon: IconBolt,
        action: needsOf.statistics,
      },
      {
        to: '/key-groups',
        label: texts.keyGroups.title,
        icon: IconSignature,
        action: 'admin:ManageDistributions',
      },
      {
        to: '/certificates',
        label: texts.publishing.certificates,
        icon: IconCertificate,
        action: 'admin:ManageCertificates',
      },
      {
        to: '/dns-providers',
        label: texts.publishing.dnsProviders,
        icon: IconRoute,
        action: 'admin:ManageCertificates',
      },
    ],
  },
  {
    label: texts.navigation.operate,
    pages: [
      { to: '/server', label: texts.server.title, icon: IconServer, action: 'admin:ServerInfo' },
      { to: '/drives', label: texts.drives.title, icon: IconDatabase, action: 'admin:ServerInfo' },
      {
        to: '/metrics',
        label: texts.metrics.title,
        icon: IconChartLine,
        action: ['admin:Prometheus', 'admin:ServerInfo'],
      },
      { to: '/healing', label: texts.operate.healing, icon: IconHeartbeat, action: 'admin:Heal' },
      { to: '/events', label: texts.events.title, icon: IconBell, action: 'admin:ServerInfo' },
      { to: '/keys', label: texts.keys.title, icon: IconLock, action: 'admin:KMSKeyStatus' },
      { to: '/locks', label: texts.operate.locks, icon: IconLockAccess, action: 'admin:TopLocksInfo' },
      { to: '/settings', label: texts.settings.title, icon: IconSettings, action: 'admin:GetConfig' },
      { to: '/trace', label: texts.operate.trace, icon: IconActivity, action: 'admin:ServerTrace' },
      { to: '/logs', label: texts.operate.logs, icon: IconFileText, action: 'admin:ConsoleLog' },
      { to: '/audit', label: texts.operate.audit, icon: IconListSearch, action: 'admin:AuditLog' },
      { to: '/tools', label: texts.tools.title, icon: IconTool, action: Object.values(needsOfTools).flat() },
      { to: '/plugins', label: texts.operate.plugins, icon: IconPlugConnected, action: 'admin:ServerInfo' },
    ],
  },
]

export const mayOpen = ({ action = [] }: Page, allowed: ReadonlySet<string>): boolean =>
  action.length === 0 || [action].flat().some(one => allowed.has(one))
