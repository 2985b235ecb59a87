/** The operations of the Admin API that this plugin implements. */
import addGroupMembers from './add-group-members.ts'
import attachPolicies from './attach-policies.ts'
import changeOwnSecretKey from './change-own-secret-key.ts'
import createAccessKey from './create-access-key.ts'
import createGroup from './create-group.ts'
import createUser from './create-user.ts'
import deleteAccessKey from './delete-access-key.ts'
import deleteGroup from './delete-group.ts'
import deletePolicy from './delete-policy.ts'
import deleteUser from './delete-user.ts'
import detachPolicies from './detach-policies.ts'
import getAccessKey from './get-access-key.ts'
import getGroup from './get-group.ts'
import getPermissions from './get-permissions.ts'
import getPolicy from './get-policy.ts'
import getUser from './get-user.ts'
import listAccessKeys from './list-access-keys.ts'
import listGroups from './list-groups.ts'
import listPolicies from './list-policies.ts'
import listPolicyActions from './list-policy-actions.ts'
import listUsers from './list-users.ts'
import putPolicy from './put-policy.ts'
import removeGroupMember from './remove-group-member.ts'
import rotateAccessKey from './rotate-access-key.ts'
import setUserGroups from './set-user-groups.ts'
import setUserSecretKey from './set-user-secret-key.ts'
import simulatePolicy from './simulate-policy.ts'
import updateAccessKey from './update-access-key.ts'
import updateGroup from './update-group.ts'
import updateUser from './update-user.ts'

export const adminOperations = [
  getPermissions,
  changeOwnSecretKey,
  listUsers,
  createUser,
  getUser,
  updateUser,
  deleteUser,
  setUserSecretKey,
  setUserGroups,
  listGroups,
  createGroup,
  getGroup,
  updateGroup,
  deleteGroup,
  addGroupMembers,
  removeGroupMember,
  listAccessKeys,
  createAccessKey,
  getAccessKey,
  updateAccessKey,
  deleteAccessKey,
  rotateAccessKey,
  listPolicies,
  getPolicy,
  listPolicyActions,
  simulatePolicy,
  putPolicy,
  deletePolicy,
  attachPolicies,
  detachPolicies,
]
