/** What the web console asks before it does it: nothing is opened to everybody, and nothing that nobody has seen is replaced, without an answer. */
import { PutPublicAccessBlockCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from './browser.ts'
import { chooseFrom, eventually, filesIn, keysOf, retype, startConsole } from './console.ts'
import { createClient } from './sdk.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { server, admin, browser, signIn } = await startConsole(t)
  await admin.call('POST', '/buckets', { name: 'site' })

  t.test('what was refused is not opened to everybody without an answer', async t => {
    const objects = 'arn:aws:s3:::gate/'
    const allow = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `${objects}*` }
    const deny = { ...allow, Effect: 'Deny', Resource: `${objects}private/*` }
    await admin.call('POST', '/buckets', { name: 'gate' })
    await admin.call('POST', '/buckets/gate/objects/upload?key=private%2Fs', 'secret')
    const visit = async () => (await fetch(`${server.endpoint}/gate/private/s`)).status
    const s3 = createClient(server)
    t.teardown(() => s3.destroy())
    const policy = { Version: '2012-10-17', Statement: [allow, deny] }
    await admin.call('PUT', '/buckets/gate/policy', policy)
    const { page, flaws } = await browser.open(t, {}, /412 PUT .*block-public/)
    await signIn(page, '/buckets/gate?tab=policy')
    const question = page.getByRole('dialog', { name: 'Open this to everybody?' })
    const refuse = async () => {
      await question.getByRole('button', { name: 'Cancel' }).click()
      await question.waitFor({ state: 'detached' })
      t.equal(await visit(), 403)
    }
    // A statement that denies is taken away.
    await page.locator('.cm-line', { hasText: 'private' }).waitFor()
    await retype(page.locator('.cm-content'), JSON.stringify({ ...policy, Statement: [allow] }))
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByText('will be able to read every object').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await refuse()

    // Without the version of 2012, a variable is ordinary text: the statement denies nothing any more.
    const variable = { ...deny, Resource: `${objects}\${aws:username,'private'}/*` }
    await admin.call('PUT', '/buckets/gate/policy', { ...policy, Statement: [allow, variable] })
    t.equal(await visit(), 403)
    await page.reload()
    await page.locator('.cm-line', { hasText: 'aws:username' }).waitFor()
    await retype(page.locator('.cm-content'), JSON.stringify({ Version: '2008-10-17', Statement: [allow, variable] }))
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByText('will be able to read every object').waitFor()
    await refuse()

    // A rule that denies denies something else.
    await admin.call('DELETE', '/buckets/gate/policy')
    const every = { id: 'every', priority: 200, effect: 'allow', principals: ['*'], actions: ['read'] }
    const match = { type: 'prefix', pattern: 'private/' }
    const no = { id: 'no', priority: 100, effect: 'deny', principals: ['*'], actions: ['read'], match }
    await admin.call('PUT', '/buckets/gate/access-rules', { rules: [every, no] })
    await page.goto(new URL('/buckets/gate?tab=access', page.url()).href)
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Edit rule no' }).click()
    await dialog.getByLabel('Pattern').fill('privat3/')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await question.getByText('will be able to read every object').waitFor()
    await refuse()
    await question.waitFor({ state: 'detached' })
    await dialog.getByLabel('Pattern').fill('private/')
    await dialog.getByLabel('Note').fill('of the family')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    // Another order.
    await page.getByRole('button', { name: 'Edit rule every' }).click()
    await dialog.getByLabel('Number (the lowest decides)').fill('50')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await question.getByText('will be able to read every object').waitFor()
    await refuse()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Close and lose it' }).click()
    await dialog.waitFor({ state: 'detached' })

    // What is let in later, and what nobody can name: lists of single objects.
    const later = { ...every, id: 'later', conditions: { timeWindow: { from: '2999-01-01T00:00:00Z' } } }
    const loosened = page.getByRole('dialog', { name: 'Change what is refused to everybody?' })
    for (const [rules, asked, text] of [
      [[later, no], question, 'It begins at'],
      [[no], loosened, 'access control lists'],
    ] as const) {
      await admin.call('PUT', '/buckets/gate/access-rules', { rules })
      await page.reload()
      await page.getByRole('button', { name: 'Edit rule no' }).click()
      await dialog.getByLabel('Pattern').fill('privat3/')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await asked.getByText(text).waitFor()
      t.same(await accessibilityFlaws(page), [])
      await asked.getByRole('button', { name: 'Cancel' }).click()
      await asked.waitFor({ state: 'detached' })
    }

    // The block of the bucket, and that of all buckets, which may go meanwhile.
    await admin.call('PUT', '/buckets/gate/access-rules', { rules: [later] })
    await admin.call('PUT', '/buckets/gate/block-public', { enabled: true })
    await admin.call('PUT', '/access/block-public', { enabled: true })
    await page.reload()
    await page.getByText('The whole deployment blocks public access').waitFor()
    await admin.call('PUT', '/access/block-public', { enabled: false })
    await page.getByLabel('Block public access to this bucket').click()
    await page.getByRole('button', { name: 'Save' }).click()
    await question
      .getByText(/The access rule “later” lets everybody read every object of this bucket from .*2999/)
      .waitFor()
    await refuse()
    await admin.call('PUT', '/buckets/gate/block-public', { enabled: false })
    await admin.call('PUT', '/buckets/gate/access-rules', { rules: [every] })
    t.equal(await visit(), 200)
    await admin.call('PUT', '/buckets/gate/block-public', { enabled: true })
    await page.reload()
    await page.getByLabel('Block public access to this bucket').click()
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByText('The access rule “every” lets everybody read every object').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await refuse()
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await page.getByText('Block public access: Saved.').waitFor()
    t.equal(await visit(), 200)

    // A part of the block, which only S3 clients set, is shown, and goes no more silently than the whole.
    const PublicAccessBlockConfiguration = { RestrictPublicBuckets: true }
    await s3.send(new PutPublicAccessBlockCommand({ Bucket: 'gate', PublicAccessBlockConfiguration }))
    t.equal(await visit(), 403)
    await page.reload()
    await page.getByText('A part of the block is set, as S3 clients set it: RestrictPublicBuckets.').waitFor()
    await page.getByLabel('Block public access to this bucket').click()
    await page.getByLabel('Block public access to this bucket').click()
    await page.getByText('the part of the block that is set goes: RestrictPublicBuckets.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByText('The access rule “every” lets everybody read every object').waitFor()
    await refuse()
    t.equal(await visit(), 403)
    // Somebody else has set the whole of it meanwhile.
    await admin.call('PUT', '/buckets/gate/block-public', { enabled: true })
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    t.equal(await visit(), 403)
    await page.getByRole('button', { name: 'Load what is stored now' }).click()
    await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
    await admin.call('PUT', '/buckets/gate/block-public', { enabled: false })
    await page.goto(new URL('/settings', page.url()).href)
    const everywhere = page.getByLabel('Block public access in every bucket')
    await everywhere.click()
    await everywhere.click()
    await admin.call('PUT', '/access/block-public', { enabled: true })
    await page.getByRole('button', { name: 'Save' }).first().click()
    await page.getByText('Somebody else has changed it').waitFor()
    t.equal(await visit(), 403)
    await page.getByRole('button', { name: 'Load what is stored now' }).click()
    await eventually('the block', () => everywhere.isChecked())
    await everywhere.click()
    await page.getByRole('button', { name: 'Save' }).first().click()
    const noLonger = page.getByRole('dialog', { name: 'Block public access no longer?' })
    await noLonger.getByRole('button', { name: 'Cancel' }).click()
    await noLonger.waitFor({ state: 'detached' })
    t.equal(await visit(), 403)
    await page.goto(new URL('/settings?open=access', page.url()).href)
    await page
      .getByLabel(/^block_public/)
      .first()
      .click()
    await page.getByRole('button', { name: 'Save' }).click()
    await noLonger.getByRole('button', { name: 'Cancel' }).click()
    await noLonger.waitFor({ state: 'detached' })
    t.equal(await visit(), 403)
    await page.getByRole('button', { name: 'Reset' }).click()
    await dialog.getByText('is open at once, without credentials').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })

    // A configuration that is imported.
    await page.goto(new URL('/tools', page.url()).href)
    await page.getByLabel('Type of file').selectOption({ index: 1 })
    const file = JSON.stringify({ access: { block_public: 'off' } })
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'config.json', mimeType: 'application/json', buffer: Buffer.from(file) })
    await page.getByRole('button', { name: 'What would change' }).click()
    await page.getByText('config/access (block_public)').waitFor()
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    const imported = page.getByRole('dialog', { name: 'Import what decides who gets in?' })
    await imported.getByText('config/access').waitFor()
    await imported.getByRole('button', { name: 'Cancel' }).click()
    await imported.waitFor({ state: 'detached' })
    t.equal(await visit(), 403)

    // An archive that makes the bucket anew, with what lets everybody in, and by which another keeps no more versions.
    await admin.call('POST', '/buckets', { name: 'kept', versioning: true })
    await admin.call('PUT', '/buckets/kept/versioning', { status: 'suspended' })
    const buffer = await admin.download('/cluster/export')
    await admin.call('PUT', '/buckets/kept/versioning', { status: 'enabled' })
    await admin.call('DELETE', '/buckets/gate?force=true')
    await page.getByLabel('Type of file').selectOption({ index: 0 })
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'cluster.zip', mimeType: 'application/zip', buffer: Buffer.from(buffer) })
    await page.getByRole('button', { name: 'What would change' }).click()
    await page.getByText('bucket/gate/access-rules').waitFor()
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await imported.getByText('bucket/gate/access-rules').waitFor()
    await imported.getByText('no longer protected').waitFor()
    await imported.getByText('bucket/kept/versioning').waitFor()
    await imported.getByRole('button', { name: 'Cancel' }).click()
    await imported.waitFor({ state: 'detached' })
    t.match(await admin.call('GET', '/buckets/kept/versioning'), { status: 'enabled' })
    await t.rejects(admin.call('GET', '/buckets/gate'), /404/)
    await admin.call('PUT', '/access/block-public', { enabled: false })
    t.same(flaws, [])
  })

  t.test(
    'where versioning is suspended, a version does not take the place of an object without a question',
    async t => {
      await admin.call('POST', '/buckets', { name: 'suspended', versioning: true })
      await admin.call('POST', '/buckets/suspended/objects/upload?key=o', 'old')
      await admin.call('PUT', '/buckets/suspended/versioning', { status: 'suspended' })
      await admin.call('POST', '/buckets/suspended/objects/upload?key=o', 'current')
      const { page, flaws } = await browser.open(t, {}, /412 POST .*copy/)
      await signIn(page, '/buckets/suspended?tab=versions')
      const restore = () => chooseFrom(page.getByRole('button', { name: /^More for version/ }).last(), 'Restore')
      const question = page.getByRole('dialog', { name: 'Replace o by this version?' })
      await restore()
      await question.getByRole('button', { name: 'Cancel' }).click()
      await question.waitFor({ state: 'detached' })
      const size = async () => (await admin.call('GET', '/buckets/suspended/objects/stat?key=o')).size
      t.equal(await size(), '"current"'.length)
      // Nor that of one that nobody has seen who was asked.
      await restore()
      await question.waitFor()
      await admin.call('POST', '/buckets/suspended/objects/upload?key=o', 'stored meanwhile')
      await question.getByRole('button', { name: 'Restore' }).click()
      await question.getByText('Somebody else has changed o meanwhile').waitFor()
      t.equal(await size(), '"stored meanwhile"'.length)
      await question.getByRole('button', { name: 'Cancel' }).click()
      await question.waitFor({ state: 'detached' })
      await restore()
      await question.getByRole('button', { name: 'Restore' }).click()
      await page.getByText('The old version is the current one again').waitFor()
      t.equal(await size(), '"old"'.length)

      // What is described anew is stored anew: in the place of what was stored while no versions were kept.
      const versions = async () =>
        (await admin.call('GET', '/buckets/suspended/objects/versions?prefix=both')).items.map(
          ({ size, versionId }: { size: number; versionId: string }) => [size, versionId === 'null'],
        )
      await admin.call('POST', '/buckets/suspended/objects/upload?key=both', 'while none were kept')
      await admin.call('PUT', '/buckets/suspended/versioning', { status: 'enabled' })
      await admin.call('POST', '/buckets/suspended/objects/upload?key=both', 'kept')
      await admin.call('PUT', '/buckets/suspended/versioning', { status: 'suspended' })
      await page.goto(new URL('/buckets/suspended', page.url()).href)
      await page.getByRole('button', { name: 'both', exact: true }).click()
      await chooseFrom(page.getByRole('button', { name: 'More for both' }), 'Edit')
      const form = page.getByRole('dialog', { name: 'Metadata and tags of both' })
      const asked = page.getByRole('dialog', { name: 'Store both anew?' })
      await form.getByLabel('Cache control').fill('max-age=60')
      await form.getByRole('button', { name: 'Save' }).click()
      await asked.getByText('gone for good').waitFor()
      await asked.getByRole('button', { name: 'Cancel' }).click()
      await asked.waitFor({ state: 'detached' })
      t.same(await versions(), [
        ['"kept"'.length, false],
        ['"while none were kept"'.length, true],
      ])
      await form.getByRole('button', { name: 'Save' }).click()
      await asked.getByRole('button', { name: 'Save' }).click()
      await form.waitFor({ state: 'detached' })
      t.match(await admin.call('GET', '/buckets/suspended/objects/stat?key=both'), { cacheControl: 'max-age=60' })
      await page.keyboard.press('Escape')

      // What nobody sees in the list, for it lies behind a delete marker.
      for (const key of ['gone', 'lower'])
        await admin.call('POST', `/buckets/suspended/objects/upload?key=${key}`, 'while none were kept')
      await admin.call('PUT', '/buckets/suspended/versioning', { status: 'enabled' })
      await admin.call('POST', '/buckets/suspended/objects/upload?key=lower', 'kept')
      await admin.call('DELETE', '/buckets/suspended/objects', { objects: [{ key: 'gone' }] })
      await admin.call('PUT', '/buckets/suspended/versioning', { status: 'suspended' })
      const kept = (key: string) => admin.call('GET', `/buckets/suspended/objects/stat?key=${key}&versionId=null`)
      const replacing = page.getByRole('dialog', { name: 'Replace 1 object?' })
      await filesIn(page).setInputFiles({ name: 'gone', mimeType: 'text/plain', buffer: Buffer.from('new') })
      await replacing.getByText('gone', { exact: true }).waitFor()
      await replacing.getByRole('button', { name: 'Upload nothing' }).click()
      await replacing.waitFor({ state: 'detached' })
      t.match(await kept('gone'), { size: '"while none were kept"'.length })
      await page.reload()
      await page.getByLabel('Select lower').check()
      await page.getByRole('button', { name: 'Copy or move' }).click()
      const copying = page.getByRole('dialog', { name: 'Copy, move or rename' })
      await copying.getByLabel('New key').fill('gone')
      await copying.getByRole('button', { name: 'Copy or move' }).click()
      await copying.getByText('Among the old versions of gone').waitFor()
      t.match(await kept('gone'), { size: '"while none were kept"'.length })
      await copying.getByLabel('Replace what').check()
      await copying.getByRole('button', { name: 'Copy or move' }).click()
      const unseen = page.getByRole('dialog', { name: 'Replace what no list shows?' })
      await unseen.getByText('Among the old versions of gone').waitFor()
      await unseen.getByRole('button', { name: 'Cancel' }).click()
      await unseen.waitFor({ state: 'detached' })
      t.match(await kept('gone'), { size: '"while none were kept"'.length })
      await copying.getByLabel('Replace what').uncheck()
      await copying.getByLabel('New key').fill('elsewhere')
      await copying.getByLabel('Move').check()
      await copying.getByRole('button', { name: 'Copy or move' }).click()
      await copying.getByText('Among the old versions of lower').waitFor()
      t.match(await kept('lower'), { size: '"while none were kept"'.length })
      t.same(await keysOf(admin, 'suspended', 'elsewhere'), [])
      t.same(flaws, [])
    },
  )

  t.test('lifecycle and policy of a bucket are changed only if they are still what was read', async t => {
    const { page, flaws } = await browser.open(t, {}, /412 PUT|400 GET .*policy|400 POST .*lifecycle.run/)
    const rules = (days: number) => ({
      rules: [{ id: 'uploads', enabled: true, abortIncompleteUpload: { daysAfterInitiation: days } }],
    })
    const discard = async () => {
      await page.getByRole('button', { name: 'Discard' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    }
    await admin.call('PUT', '/buckets/site/lifecycle', rules(3))
    await signIn(page, '/buckets/site?tab=lifecycle')
    await page.getByText('removed after 3 days').waitFor()
    await page.getByRole('button', { name: 'What would they delete?' }).click()
    await page.getByText('Nothing would be deleted.').first().waitFor()
    await page.getByRole('button', { name: 'Edit rule uploads' }).click()
    await page.getByRole('dialog').getByLabel('Remove uploads').fill('4')
    await admin.call('PUT', '/buckets/site/lifecycle', rules(5))
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    t.match(await admin.call('GET', '/buckets/site/lifecycle'), rules(5))
    await page.getByRole('button', { name: 'Load what is stored now' }).click()
    await page.getByText('removed after 5 days').waitFor()
    await admin.call('PUT', '/buckets/site/lifecycle', rules(6))
    await page.getByRole('button', { name: 'All rules as JSON' }).click()
    // What is typed is not lost by a change of one rule.
    await retype(page.locator('.cm-content'), '[ ]')
    await page.getByText('Rules are being changed as JSON').waitFor()
    for (const name of ['Edit rule uploads', 'Remove rule uploads', 'Add rule'])
      t.equal(await page.getByRole('button', { name }).count(), 0, name)
    await discard()
    await page.getByRole('button', { name: 'Edit rule uploads' }).waitFor()
    await page.locator('.cm-content').getByText('daysAfterInitiation').waitFor()
    await retype(page.locator('.cm-content'), '{"rules": []}')
    await page.getByRole('button', { name: 'What would they delete?' }).click()
    await page.getByText('Line 1, column 1: It is no list of rules').waitFor()
    // The server's words, at their place, until the text is changed.
    await retype(
      page.locator('.cm-content'),
      '[\n{"id": "a", "enabled": true, "filter": {}, "expiration": {"days": 0}}]',
    )
    await page.getByText('It is no list of rules').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'What would they delete?' }).click()
    await page.getByText('Line 2, column 59: expiration.days: ').waitFor()
    await retype(page.locator('.cm-content'), '[{"id": "a", "id": "b"}]')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Line 1, column 14: id is there twice').waitFor()
    await discard()
    // Somebody has changed the rules, and taken that back.
    await page.getByRole('button', { name: 'Edit rule uploads' }).waitFor()
    await admin.call('PUT', '/buckets/site/lifecycle', rules(7))
    await retype(page.locator('.cm-content'), '[]')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    await admin.call('PUT', '/buckets/site/lifecycle', rules(5))
    await page.getByRole('button', { name: 'Load what is stored now' }).click()
    await page.getByText('Somebody else has changed it').waitFor({ state: 'detached' })
    await page.getByText('removed after 5 days').waitFor()
    await page.getByRole('button', { name: 'All rules as JSON' }).click()
    await page.locator('.cm-content').getByText('daysAfterInitiation').waitFor()
    await admin.call('PUT', '/buckets/site/lifecycle', rules(6))
    await page.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText('[]')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    await page.getByRole('button', { name: 'Load what is stored now' }).click()
    await page.getByText('removed after 6 days').waitFor()

    // A date that is over.
    await page.getByRole('button', { name: 'All rules as JSON' }).click()
    const old = { id: 'old', enabled: true, filter: {}, expiration: { date: '2020-01-01T00:00:00Z' } }
    await admin.call('POST', '/buckets/site/objects/upload?key=of-today', 'x')
    await retype(page.locator('.cm-content'), JSON.stringify([old]))
    await page.getByRole('button', { name: 'What would they delete?' }).click()
    await page
      .getByText(/^1 object would be deleted/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    const deletion = page.getByRole('dialog', { name: 'Save a rule that deletes?' })
    await deletion.getByText(/are deleted at once, because .* is over; those that were stored today/).waitFor()
    await deletion.getByRole('button', { name: 'Cancel' }).click()
    await deletion.waitFor({ state: 'detached' })
    await discard()
    await page.getByRole('button', { name: 'Edit rule uploads' }).waitFor()

    const statement = { Effect: 'Deny', Principal: '*', Action: 's3:DeleteObject', Resource: 'arn:aws:s3:::site/*' }
    const policy = (Sid: string) => ({ Version: '2012-10-17', Statement: [{ Sid, ...statement }] })
    await admin.call('PUT', '/buckets/site/policy', policy('first'))
    await page.getByRole('tab', { name: 'Policy' }).click()
    await page.getByText('"first"').waitFor()
    t.equal(await page.getByRole('button', { name: 'Save' }).count(), 0, 'nothing is changed')
    await page.getByRole('button', { name: 'Remove policy' }).click()
    await page.getByRole('dialog').getByText('Every statement of the policy goes.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await retype(page.locator('.cm-content'), JSON.stringify(policy('typed')))
    t.equal(await page.getByRole('button', { name: 'Remove policy' }).count(), 0, 'that would take what is typed along')
    await discard()
    await page.locator('.cm-content').getByText('"first"').waitFor()
    await page.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+Z')
    t.notMatch(await page.locator('.cm-content').innerText(), /typed/, 'what was discarded does not come back')
    await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
    // Read again for another reason, what is typed stays.
    const reading = Promise.withResolvers<void>()
    await page.route(/\/buckets\/site\/policy$/, async route => {
      if (route.request().method() !== 'GET') return route.continue()
      await reading.promise
      // What the server refuses is not asked for again.
      await route.fulfill({ status: 400, body: 'no policy' })
    })
    const isAsked = page.waitForRequest(request => /site\/policy$/.test(request.url()) && request.method() === 'GET')
    await page.getByLabel('Folder', { exact: true }).fill('pub/')
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await isAsked
    await retype(page.locator('.cm-content'), JSON.stringify(policy('meanwhile')))
    const isRead = page.waitForResponse(answer => /site\/policy$/.test(answer.url()))
    reading.resolve()
    await isRead
    await page.getByText('pub/*', { exact: true }).waitFor()
    await page.unroute(/\/buckets\/site\/policy$/)
    const stale = page.getByRole('alert').filter({ hasText: 'This could not be read again' })
    await stale.getByRole('button', { name: 'Try again' }).click()
    await stale.waitFor({ state: 'detached' })
    t.match(await page.locator('.cm-content').innerText(), /"meanwhile"/)
    await page.getByRole('button', { name: 'Save' }).waitFor()
    await admin.call('PUT', '/buckets/site/policy', policy('first'))
    await page.reload()
    await page.locator('.cm-content').getByText('"first"').waitFor()
    await admin.call('PUT', '/buckets/site/policy', policy('second'))
    await page.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+End')
    await page.keyboard.insertText(' ')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    t.match(await admin.call('GET', '/buckets/site/policy'), policy('second'))
    // Discarded, it is what is stored now, and not what it was.
    await discard()
    await page.getByText('"second"').waitFor()
    await page.getByText('Somebody else has changed it').waitFor({ state: 'detached' })
    // The same document in another layout.
    await page.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+End')
    await page.keyboard.insertText(' ')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
    await admin.call('DELETE', '/buckets/site/policy')
    t.same(flaws, [])
  })

  t.test(
    'what is typed stays where the session ends, a right goes, or what was saved cannot be read again',
    async t => {
      const policy = (...Action: string[]) => ({
        document: { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action, Resource: '*' }] },
      })
      const all = ['s3:*', 'admin:ManageDistributions']
      await admin.call('PUT', '/policies/typist', policy(...all))
      const { accessKeyId, secretAccessKey } = await admin.createUser('typist', { policyNames: ['typist'] })
      await admin.call('POST', '/buckets', { name: 'typed' })
      const made = await admin.call('POST', '/distributions', {
        id: 'typed',
        aliases: ['typed.example.test'],
        origin: { bucket: 'typed' },
      })
      const { page, flaws } = await browser.open(t, {}, /400 GET|401|403|412 PUT/)
      const again = page.getByRole('dialog', { name: 'Sign in' })
      const save = page.getByRole('button', { name: 'Save', exact: true })
      /** Saves when the session is over, and signs in again after something was changed by others. */
      const endSession = async (change: () => Promise<unknown>) => {
        await page.context().clearCookies()
        await save.click()
        await again.waitFor()
        await change()
        await again.getByLabel('Access key').fill(accessKeyId)
        await again.locator('input[type=password]').fill(secretAccessKey)
        await again.getByRole('button', { name: 'Sign in' }).click()
        await again.waitFor({ state: 'detached' })
      }
      const discard = async () => {
        await page.getByRole('button', { name: 'Discard' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
      }
      const note = page.getByLabel('Note')
      const distribution = `/distributions/${made.id}`
      const comment = async (text: string) =>
        admin.call('PUT', distribution, { ...(await admin.call('GET', distribution)), comment: text })
      await signIn(page, distribution, accessKeyId, secretAccessKey)
      await note.fill('mine')
      const read = page.waitForResponse(
        answer => answer.url().endsWith(distribution) && answer.request().method() === 'GET' && answer.ok(),
      )
      await endSession(() => comment('theirs'))
      await read
      await save.click()
      await page.getByText('Somebody else has changed it').waitFor()
      t.equal(await note.inputValue(), 'mine')
      await discard()
      await eventually('what is stored', async () => (await note.inputValue()) === 'theirs')

      // It is saved, and cannot be read: it counts as saved, and what is typed then stays where it can be read again.
      await page.route(`**${distribution}`, route =>
        route.request().method() === 'GET' ? route.fulfill({ status: 400 }) : route.continue(),
      )
      await note.fill('saved')
      await save.click()
      await page.getByText(`${made.id} is saved`).waitFor()
      await save.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Try again' }).waitFor()
      // The next change is upon what was saved: nobody else was quicker.
      await note.fill('saved again')
      const refused = page.waitForResponse(answer => answer.url().endsWith(distribution) && answer.status() === 400)
      await save.click()
      await refused
      await save.waitFor({ state: 'detached' })
      t.equal((await admin.call('GET', distribution)).comment, 'saved again')
      await page.unroute(`**${distribution}`)
      await note.fill('saved, and more')
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByRole('button', { name: 'Try again' }).waitFor({ state: 'detached' })
      t.equal(await note.inputValue(), 'saved, and more')
      await discard()
      await eventually('what is stored', async () => (await note.inputValue()) === 'saved again')

      // So it is in the policy of a bucket.
      const statement = { Effect: 'Deny', Principal: '*', Action: 's3:DeleteBucket', Resource: 'arn:aws:s3:::typed' }
      const ofBucket = (Sid: string) => ({ Version: '2012-10-17', Statement: [{ Sid, ...statement }] })
      await admin.call('PUT', '/buckets/typed/policy', ofBucket('first'))
      await page.goto(new URL('/buckets/typed?tab=policy', page.url()).href)
      await page.locator('.cm-content').getByText('"first"').waitFor()
      await page.route('**/buckets/typed/policy', route =>
        route.request().method() === 'GET' ? route.fulfill({ status: 400 }) : route.continue(),
      )
      for (const sid of ['second', 'third']) {
        await retype(page.locator('.cm-content'), JSON.stringify(ofBucket(sid)))
        await save.click()
        await save.waitFor({ state: 'detached' })
        await page.locator('.cm-content').getByText(`"${sid}"`).waitFor()
        t.match(await admin.call('GET', '/buckets/typed/policy'), ofBucket(sid))
      }
      await page.unroute('**/buckets/typed/policy')

      // The same in rules of a bucket, where what was typed is given up, and where the right has gone.
      await page.goto(new URL('/buckets/typed?tab=lifecycle', page.url()).href)
      await page.getByRole('button', { name: 'All rules as JSON' }).click()
      const rules = (days: number) => ({ rules: [{ id: 'old', enabled: true, filter: {}, expiration: { days } }] })
      await retype(page.locator('.cm-content'), JSON.stringify(rules(9000).rules))
      await endSession(() => admin.call('PUT', '/buckets/typed/lifecycle', rules(8000)))
      await discard()
      await page.getByText('8,000 days').first().waitFor()
      await page.getByRole('button', { name: 'All rules as JSON' }).click()
      await page.locator('.cm-content').getByText('8000').waitFor()
      await retype(page.locator('.cm-content'), JSON.stringify(rules(7000).rules))
      await endSession(() => admin.call('PUT', '/policies/typist', policy('s3:ListBucket', 's3:ListAllMyBuckets')))
      await page.getByText('This was not done: the session had ended').waitFor()
      await save.click()
      await page.getByRole('alert').getByText('s3:PutLifecycleConfiguration').waitFor()
      await page.locator('.cm-content').getByText('7000').waitFor()
      await discard()
      await page.getByText('You may not see this tab').waitFor()
      t.same(flaws, [])
    },
  )

  t.test('what is typed for one bucket is nothing of another one', async t => {
    await admin.call('POST', '/buckets', { name: 'first-one' })
    await admin.call('POST', '/buckets', { name: 'other-one' })
    const { page, flaws } = await browser.open(t)
    const go = async (words: string) => {
      // An editor has keys of its own.
      await page.getByRole('heading', { level: 1 }).click()
      await page.keyboard.press('ControlOrMeta+k')
      await page.getByPlaceholder('Buckets, folders').fill(words)
      await page.getByRole('option', { name: words.replace(' ', ': ') }).click()
    }
    const asJson = page.getByRole('button', { name: 'All rules as JSON' })
    await signIn(page, '/buckets/other-one?tab=lifecycle')
    await asJson.waitFor()
    for (const bucket of ['first-one', 'other-one', 'first-one']) {
      await go(`${bucket} lifecycle`)
      await page.getByRole('heading', { name: bucket }).waitFor()
      await asJson.waitFor()
    }
    await asJson.click()
    await retype(
      page.locator('.cm-content'),
      '[{"id": "typed", "enabled": true, "filter": {}, "expiration": {"days": 1}}]',
    )
    await go('other-one lifecycle')
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
    await page.getByRole('heading', { name: 'other-one' }).waitFor()
    await asJson.click()
    await page.locator('.cm-content').getByText('[]', { exact: true }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Save' }).count(), 0)
    t.same((await admin.call('GET', '/buckets/other-one/lifecycle')).rules, [])
    t.same(flaws, [])
  })

  t.test('a policy that somebody else has stored is what the editor shows once it is loaded', async t => {
    const policy = (Action: string) => ({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action, Resource: 'arn:aws:s3:::site/*' }],
    })
    const stored = async () => (await admin.call('GET', '/policies/team')).document.Statement[0].Action
    await admin.call('PUT', '/policies/team', { document: policy('s3:GetObject') })
    const { page, flaws } = await browser.open(t, {}, /412 PUT/)
    await signIn(page, '/policies')
    await page.getByRole('button', { name: 'team', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await retype(dialog.locator('.cm-content'), JSON.stringify(policy('s3:PutObject')))
    await admin.call('PUT', '/policies/team', { document: policy('s3:DeleteObject') })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('button', { name: 'Load what is stored now' }).click()
    await dialog.locator('.cm-content').getByText('s3:DeleteObject').waitFor()
    await dialog.getByText('Somebody else has changed it').waitFor({ state: 'detached' })
    t.match(await stored(), /DeleteObject/)
    await retype(dialog.locator('.cm-content'), JSON.stringify(policy('s3:ListBucket')).replace('/*', ''))
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.match(await stored(), /ListBucket/, 'what is seen is what is replaced')
    t.same(flaws, [])
  })

  t.test('the end of an access key that somebody else has set is not replaced unseen', async t => {
    const made = await admin.call('POST', '/access-keys', { name: 'shared' })
    const { page, flaws } = await browser.open(t, {}, /412 PATCH/)
    await signIn(page, '/access-keys')
    const dialog = page.getByRole('dialog')
    const edit = async () => {
      await page.getByRole('button', { name: made.accessKey, exact: true }).click()
      await dialog.getByLabel('Expires').fill('2099-06-01T00:00')
    }
    await edit()
    await admin.call('PATCH', `/access-keys/${made.accessKey}`, { expiresAt: '2098-01-01T00:00:00Z' })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Somebody else has changed it').waitFor()
    const end = async () => (await admin.call('GET', `/access-keys/${made.accessKey}`)).expiresAt
    t.equal(await end(), '2098-01-01T00:00:00.000Z')
    await dialog.getByRole('button', { name: 'Load what is stored now' }).click()
    await edit()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.match(await end(), /^2099-0[56]-/)
    t.same(flaws, [])
  })
}
