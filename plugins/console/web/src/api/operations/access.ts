/** Who may do what: sessions, users, groups, policies, access keys, access rules. */
import type getAccessRules from '../../../../../access-rules/admin/get-access-rules.ts'
import type getBlockPublic from '../../../../../access-rules/admin/get-block-public.ts'
import type getBucketBlockPublic from '../../../../../access-rules/admin/get-bucket-block-public.ts'
import type putAccessRules from '../../../../../access-rules/admin/put-access-rules.ts'
import type setAccessPreset from '../../../../../access-rules/admin/set-access-preset.ts'
import type setBlockPublic from '../../../../../access-rules/admin/set-block-public.ts'
import type setBucketBlockPublic from '../../../../../access-rules/admin/set-bucket-block-public.ts'
import type testAccessRules from '../../../../../access-rules/admin/test-access-rules.ts'
import type validatePolicy from '../../../../../access-rules/admin/validate-policy.ts'
import type getSession from '../../../../../auth-session/admin/get-session.ts'
import type login from '../../../../../auth-session/admin/login.ts'
import type logout from '../../../../../auth-session/admin/logout.ts'
import type deleteBucketAccess from '../../../../../bucket-policy/admin/delete-bucket-access.ts'
import type deleteBucketPolicy from '../../../../../bucket-policy/admin/delete-bucket-policy.ts'
import type getBucketAccess from '../../../../../bucket-policy/admin/get-bucket-access.ts'
import type getBucketPolicy from '../../../../../bucket-policy/admin/get-bucket-policy.ts'
import type putBucketPolicy from '../../../../../bucket-policy/admin/put-bucket-policy.ts'
import type setBucketAccess from '../../../../../bucket-policy/admin/set-bucket-access.ts'
import type addGroupMembers from '../../../../../users/admin/add-group-members.ts'
import type attachPolicies from '../../../../../users/admin/attach-policies.ts'
import type changeOwnSecretKey from '../../../../../users/admin/change-own-secret-key.ts'
import type createAccessKey from '../../../../../users/admin/create-access-key.ts'
import type createGroup from '../../../../../users/admin/create-group.ts'
import type createUser from '../../../../../users/admin/create-user.ts'
import type deleteAccessKey from '../../../../../users/admin/delete-access-key.ts'
import type deleteGroup from '../../../../../users/admin/delete-group.ts'
import type deletePolicy from '../../../../../users/admin/delete-policy.ts'
import type deleteUser from '../../../../../users/admin/delete-user.ts'
import type detachPolicies from '../../../../../users/admin/detach-policies.ts'
import type getGroup from '../../../../../users/admin/get-group.ts'
import type getPermissions from '../../../../../users/admin/get-permissions.ts'
import type getPolicy from '../../../../../users/admin/get-policy.ts'
import type listAccessKeys from '../../../../../users/admin/list-access-keys.ts'
import type listGroups from '../../../../../users/admin/list-groups.ts'
import type listPolicies from '../../../../../users/admin/list-policies.ts'
import type listPolicyActions from '../../../../../users/admin/list-policy-actions.ts'
import type listUsers from '../../../../../users/admin/list-users.ts'
import type putPolicy from '../../../../../users/admin/put-policy.ts'
import type removeGroupMember from '../../../../../users/admin/remove-group-member.ts'
import type rotateAccessKey from '../../../../../users/admin/rotate-access-key.ts'
import type setUserGroups from '../../../../../users/admin/set-user-groups.ts'
import type setUserSecretKey from '../../../../../users/admin/set-user-secret-key.ts'
import type simulatePolicy from '../../../../../users/admin/simulate-policy.ts'
import type updateAccessKey from '../../../../../users/admin/update-access-key.ts'
import type updateGroup from '../../../../../users/admin/update-group.ts'
import type updateUser from '../../../../../users/admin/update-user.ts'

export interface AccessOperations {
  addGroupMembers: typeof addGroupMembers
  attachPolicies: typeof attachPolicies
  changeOwnSecretKey: typeof changeOwnSecretKey
  createAccessKey: typeof createAccessKey
  createGroup: typeof createGroup
  createUser: typeof createUser
  deleteAccessKey: typeof deleteAccessKey
  deleteBucketAccess: typeof deleteBucketAccess
  deleteBucketPolicy: typeof deleteBucketPolicy
  deleteGroup: typeof deleteGroup
  deletePolicy: typeof deletePolicy
  deleteUser: typeof deleteUser
  detachPolicies: typeof detachPolicies
  getAccessRules: typeof getAccessRules
  getBlockPublic: typeof getBlockPublic
  getBucketAccess: typeof getBucketAccess
  getBucketBlockPublic: typeof getBucketBlockPublic
  getBucketPolicy: typeof getBucketPolicy
  getGroup: typeof getGroup
  getPermissions: typeof getPermissions
  getPolicy: typeof getPolicy
  getSession: typeof getSession
  listAccessKeys: typeof listAccessKeys
  listGroups: typeof listGroups
  listPolicies: typeof listPolicies
  listPolicyActions: typeof listPolicyActions
  listUsers: typeof listUsers
  login: typeof login
  logout: typeof logout
  putAccessRules: typeof putAccessRules
  putBucketPolicy: typeof putBucketPolicy
  putPolicy: typeof putPolicy
  removeGroupMember: typeof removeGroupMember
  rotateAccessKey: typeof rotateAccessKey
  setAccessPreset: typeof setAccessPreset
  setBlockPublic: typeof setBlockPublic
  setBucketAccess: typeof setBucketAccess
  setBucketBlockPublic: typeof setBucketBlockPublic
  setUserGroups: typeof setUserGroups
  setUserSecretKey: typeof setUserSecretKey
  simulatePolicy: typeof simulatePolicy
  testAccessRules: typeof testAccessRules
  updateAccessKey: typeof updateAccessKey
  updateGroup: typeof updateGroup
  updateUser: typeof updateUser
  validatePolicy: typeof validatePolicy
}
